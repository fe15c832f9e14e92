-- gaps.lua - how soon another thread accesses an object: the mean time between two accesses by distinct threads
--
-- dcpimem script gaps.lua [LEAST]
--
-- A gap is between an access and the one before it, if another thread made that one. Objects with short gaps are used
-- by several threads at a time; those with long ones are handed on, or used in phases. Objects with fewer than LEAST
-- gaps (8) are left out. Accesses are sampled: where each stands for several, gaps are shorter than they seem.

local ROWS <const> = 20
local least = 8
if arg[1] then
	least = math.tointeger(tonumber(arg[1]))
	if not least or least < 1 or arg[2] then
		error("gaps.lua [LEAST]: a whole number from 1 on is the least number of gaps", 0)
	end
end

local rows = {}
for object in profile:objects() do
	local count, sum, last, threads = 0, 0, nil, {}
	for access in object:accesses() do
		if last and access.thread ~= last.thread then
			count = count + 1
			sum = sum + access.time - last.time
			threads[access.thread], threads[last.thread] = true, true
		end
		last = access
	end
	if count >= least then
		local users = 0
		for _ in pairs(threads) do
			users = users + 1
		end
		rows[#rows + 1] = {object = object, gap = sum / count, count = count, users = users}
	end
end
table.sort(rows, function(a, b)
	return a.gap < b.gap or (a.gap == b.gap and a.object.name < b.object.name)
end)

if #rows == 0 then
	print(string.format("No object has %d accesses or more that follow one of another thread.", least))
	return
end
print("  mean gap     gaps  threads  cost     object")
for i = 1, math.min(#rows, ROWS) do
	local row = rows[i]
	print(string.format("%7.3f us %8d %8d  %5.1f %%  %s", row.gap * 1e6, row.count, row.users, row.object.cost * 100,
		row.object.name))
end

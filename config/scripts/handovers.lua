-- handovers.lua - which threads hand cache lines to which: those that should run beside each other
--
-- dcpimem script handovers.lua [OBJECT]
--
-- A thread takes a line from another one if its access waited for a core that had the line, or comes right after an
-- access by the other thread, and one of the two wrote. The giver is the last other thread that accessed the line. A row
-- is of all lines of one allocation site that one thread took from one other; "waited" is the share of the costs of the
-- whole profile that this took. OBJECT, as `dcpimem object` has it, selects one site.

local ROWS <const> = 20

local chosen
if arg[1] then
	chosen = profile:group(arg[1])
	if not chosen then
		error("there is no object " .. arg[1] .. " with accesses: 'dcpimem objects' lists them", 0)
	end
end

local function nodes(from, to)
	return (from and tostring(from) or "?") .. ">" .. (to and tostring(to) or "?")
end

local rows, by_key, handovers = {}, {}, 0

-- The row of a group, from thread to thread.
local function row_of(group, from, to)
	local by_from = by_key[group] or {}
	by_key[group] = by_from
	local by_to = by_from[from] or {}
	by_from[from] = by_to
	local row = by_to[to]
	if not row then
		row = {group = group, from = from, to = to, count = 0, cycles = 0, time = 0}
		by_to[to] = row
		rows[#rows + 1] = row
	end
	return row
end

-- Look at each line of an object.
local function follow(object)
	local line_bytes = profile.line_bytes
	local last, other = {}, {} -- by line: the last access, and the last one by another thread than that
	for access in object:accesses() do
		local line, thread = access.address // line_bytes, access.thread
		local before = last[line]
		local is_next = before and before.thread ~= thread
		local giver = is_next and before or other[line]
		if giver and (access.transfer or (is_next and (before.store or access.store))) then
			local row = row_of(object.group, giver.thread, thread)
			row.count = row.count + 1
			row.cycles = row.cycles + access.weight * access.cost
			row.time = row.time + access.time - giver.time
			row.nodes = nodes(giver.node, access.node)
			handovers = handovers + 1
		end
		if is_next then
			other[line] = before
		end
		last[line] = access
	end
end

if chosen then
	for object in chosen:objects() do
		follow(object)
	end
else
	for object in profile:objects() do
		follow(object)
	end
end
table.sort(rows, function(a, b)
	if a.cycles ~= b.cycles then
		return a.cycles > b.cycles
	end
	if a.count ~= b.count then
		return a.count > b.count
	end
	if a.from ~= b.from then
		return a.from.tid < b.from.tid
	end
	return a.to.tid < b.to.tid
end)

if handovers == 0 then
	print("No line is handed from one thread to another.")
	return
end
print(string.format("%d handovers between %d pairs of threads and sites", handovers, #rows))
print("waited   handovers    mean gap      from        to  nodes  object")
local all = math.max(profile.all.cycles, 1)
for i = 1, math.min(#rows, ROWS) do
	local row = rows[i]
	print(string.format("%5.1f %%  %9d %8.3f us  %8d  %8d  %5s  %s", row.cycles * 100 / all, row.count,
		row.time / row.count * 1e6, row.from.tid, row.to.tid, row.nodes, row.group.name))
end

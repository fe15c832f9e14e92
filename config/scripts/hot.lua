-- hot.lua - what the program waited for, and when: the objects that cost most in each part of the run
--
-- dcpimem script hot.lua [PARTS]
--
-- The run is cut into PARTS (20) of one length. A row has the part's share of all costs, and the allocation site that
-- cost most in it, with its share of the part, and the nodes whose threads waited for it: a site whose node changes from
-- part to part may be worth moving (the verdict "migrate").

local parts = 20
if arg[1] then
	parts = math.tointeger(tonumber(arg[1]))
	if not parts or parts < 1 or parts > 1000 or arg[2] then
		error("hot.lua [PARTS]: a whole number from 1 to 1000 says into how many parts the run is cut", 0)
	end
end

local sums, all = {}, 0
for part = 1, parts do
	sums[part] = {cycles = 0, groups = {}}
end
for access in profile:accesses() do
	local cycles = access.weight * access.cost
	if cycles > 0 then
		local part = math.min(math.floor(access.time / profile.seconds * parts), parts - 1) + 1
		local sum, group, node = sums[part], access.object.group, access.node or "?"
		local row = sum.groups[group] or {cycles = 0, nodes = {}}

		sum.groups[group] = row
		row.cycles = row.cycles + cycles
		row.nodes[node] = (row.nodes[node] or 0) + cycles
		sum.cycles = sum.cycles + cycles
		all = all + cycles
	end
end

-- "0:75% 1:25%", the nodes with at least a percent
local function shares(nodes, whole)
	local names, texts = {}, {}
	for node in pairs(nodes) do
		names[#names + 1] = node
	end
	table.sort(names, function(a, b)
		return tostring(a) < tostring(b)
	end)
	for _, node in ipairs(names) do
		if nodes[node] * 100 >= whole then
			texts[#texts + 1] = string.format("%s:%.0f%%", node, nodes[node] * 100 / whole)
		end
	end
	return table.concat(texts, " ")
end

if all == 0 then
	print("No access waited.")
	return
end
print("      from         to  of all  of part  object                    from nodes")
for part, sum in ipairs(sums) do
	local best, hottest
	for group, row in pairs(sum.groups) do
		if not best or row.cycles > best.cycles or (row.cycles == best.cycles and group.name < hottest.name) then
			best, hottest = row, group
		end
	end
	local from, to = (part - 1) / parts * profile.seconds, part / parts * profile.seconds
	if best then
		print(string.format("%8.3f ms %8.3f ms  %4.0f %%   %4.0f %%  %-24s  %s", from * 1e3, to * 1e3,
			sum.cycles * 100 / all, best.cycles * 100 / sum.cycles, hottest.name, shares(best.nodes, best.cycles)))
	else
		print(string.format("%8.3f ms %8.3f ms  %4.0f %%         -", from * 1e3, to * 1e3, 0))
	end
end

-- Words: made, counted, matched, replaced and joined.
local seed = 7
local function random(limit)
	seed = (seed * 1103515245 + 12345) % 2147483648
	return seed // 65536 % limit + 1
end

local words, counts, total = {}, {}, 0
for i = 1, 12000 do
	local letters = {}
	for k = 1, random(8) do letters[k] = string.char(96 + random(1 + random(20))) end
	words[i] = table.concat(letters)
end
for _, word in ipairs(words) do counts[word] = (counts[word] or 0) + 1 end
local text = table.concat(words, " ")
for word in text:gmatch("%a+") do total = total + #word end
for number = 1, 6 do
	local replaced = text:gsub("[aeiou]", { a = "e", e = "i", i = "o", o = "u", u = "a" })
	total = total + select(2, replaced:gsub("(%w)%1", "%1")) + (replaced:find("zz" .. number, 1, true) or 0)
	total = total + #replaced:upper() + #string.format("%5d %s", number, replaced:sub(number, 20 * number))
end
table.sort(words)
return total + #words[1] + #words[#words]

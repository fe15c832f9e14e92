-- All orders of nine cards, by Heap's algorithm. In each, as many cards as the first says are turned over together, until
-- the first is the one: how often? Integers in small arrays, recursion.
local cards, hand, most, sum = {}, {}, 0, 0
for i = 1, 9 do cards[i] = i end

local function play(count)
	for i = 1, count do hand[i] = cards[i] end
	local turns = 0
	while hand[1] ~= 1 do
		local low, high = 1, hand[1]
		while low < high do
			hand[low], hand[high] = hand[high], hand[low]
			low, high = low + 1, high - 1
		end
		turns = turns + 1
	end
	return turns
end

local function deal(free, count)
	if free == 1 then
		local turns = play(count)
		most = math.max(most, turns)
		sum = sum + turns
		return
	end
	for i = 1, free do
		deal(free - 1, count)
		local other = free % 2 == 1 and 1 or i
		cards[other], cards[free] = cards[free], cards[other]
	end
end

deal(#cards, #cards)
return most * 1000000 + sum

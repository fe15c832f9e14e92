-- Classes, closures and lists: method calls, lookups and garbage.
local Pump = {}
Pump.__index = Pump

function Pump.new(rate)
	return setmetatable({ rate = rate, level = 0, strokes = 0 }, Pump)
end

function Pump:stroke(seconds)
	self.strokes = self.strokes + 1
	self.level = self.level + self.rate * seconds
	if self.level > self:limit() then self:drain() end
end

function Pump:limit() return 100 end
function Pump:drain() self.level = self.level - 100 end

-- One that leaks, and takes more.
local Tank = setmetatable({}, { __index = Pump })
Tank.__index = Tank

function Tank.new(rate, leak)
	local tank = Pump.new(rate)
	tank.leak = leak
	return setmetatable(tank, Tank)
end

function Tank:limit() return 250 end

function Tank:stroke(seconds)
	Pump.stroke(self, seconds)
	self.level = self.level * (1 - self.leak)
end

local works = {}
for i = 1, 40 do works[i] = i % 4 == 0 and Tank.new(i, 0.05) or Pump.new(i % 7 + 1) end
for second = 1, 250000 do works[second * 11 % 40 + 1]:stroke(second % 5) end

-- Lists that are made, turned round and thrown away.
local function list(length)
	local head
	for i = 1, length do head = { value = i, next = head } end
	return head
end

local function turned(head)
	local made
	while head do made, head = { value = head.value, next = made }, head.next end
	return made
end

local total = 0
for round = 1, 120 do
	local at = turned(list(round * 8))
	while at do
		if at.value % 3 ~= round % 3 then total = total + at.value end
		at = at.next
	end
end

local function counter(step)
	local count = 0
	return function(times) count = count + step * times; return count end
end
local counters = { counter(1), counter(2), counter(5) }
for i = 1, 250000 do total = total + counters[i % 3 + 1](i % 2) % 7 end
for _, work in ipairs(works) do total = total + work.strokes end
return total

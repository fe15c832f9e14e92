-- Methods, closures and a tree of tables: calls, garbage and lookups.
local Account = {}
Account.__index = Account
function Account.new(owner, balance) return setmetatable({ owner = owner, balance = balance }, Account) end
function Account:deposit(amount) self.balance = self.balance + amount end
function Account:withdraw(amount)
	if amount > self.balance then return false end
	self.balance = self.balance - amount
	return true
end

local Savings = setmetatable({}, { __index = Account })
Savings.__index = Savings
function Savings.new(owner, balance, rate)
	local account = Account.new(owner, balance)
	account.rate = rate
	return setmetatable(account, Savings)
end
function Savings:deposit(amount) Account.deposit(self, amount * (1 + self.rate)) end

local function tree(depth)
	if depth == 0 then return {} end
	return { tree(depth - 1), tree(depth - 1) }
end
local function count(node)
	if not node[1] then return 1 end
	return 1 + count(node[1]) + count(node[2])
end

local accounts, refused, total = {}, 0, 0
for i = 1, 50 do
	accounts[i] = i % 3 == 0 and Savings.new("s" .. i, 100.0, 0.01) or Account.new("a" .. i, 100.0)
end
for turn = 1, 300000 do
	local account = accounts[turn * 7 % 50 + 1]
	account:deposit(turn % 13)
	if not account:withdraw(turn % 29) then refused = refused + 1 end
end
for depth = 4, 14 do total = total + count(tree(depth)) end
local function adder(step) return function(value) return value + step end end
local add = { adder(1), adder(2), adder(3) }
for i = 1, 300000 do total = add[i % 3 + 1](total) end
return refused, total

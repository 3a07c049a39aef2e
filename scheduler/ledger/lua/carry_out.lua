-- A host executes commands on its run's keys outside of its ticks, unless another host has taken the run.
--   KEYS[1]  <run>state, and under the run's prefix the keys that the commands name
-- ARGV  1 run prefix  2 epoch  3 holder  then for each command: its name, key without prefix, number of arguments, arguments…
-- Answers 1; 0 if another host has the run, or it does not exist.

local run, epoch, holder = unpack(ARGV, 1, 3)
local held_epoch, held_holder = unpack(redis.call('HMGET', run .. 'state', 'epoch', 'holder'))
if held_epoch ~= epoch or held_holder ~= holder then return 0 end
local at = 4
while at <= #ARGV do
  local command, key, count = unpack(ARGV, at, at + 2)
  redis.call(command, run .. key, unpack(ARGV, at + 3, at + 2 + tonumber(count)))
  at = at + 3 + tonumber(count)
end
return 1

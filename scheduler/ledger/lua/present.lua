-- A host gives a sign of life, which ends with its lease. Nothing is decided by it: see scheduler/ledger/presence.py.
--   <run>host   string  JSON: the host's process
-- ARGV  1 run prefix  2 epoch  3 holder  4 the sign  5 milliseconds that it is good for
-- Answers 1; 0 when another host has the run, or this one has left it.
local at = redis.call('HMGET', KEYS[1], 'epoch', 'holder', 'status')
if at[1] ~= ARGV[2] or at[2] ~= ARGV[3] or (at[3] ~= 'running' and at[3] ~= 'paused') then return 0 end
local host = ARGV[1] .. 'host'
-- A server that is full still lets a sign be renewed, but not be written.
if redis.call('GET', host) ~= ARGV[4] or redis.call('PEXPIRE', host, ARGV[5]) == 0 then
  redis.call('SET', host, ARGV[4], 'PX', ARGV[5])
end
return 1

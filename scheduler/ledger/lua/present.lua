-- A host sends a heartbeat, which expires with its lease. No decision depends on it: see scheduler/ledger/presence.py.
--   KEYS[1]  <run>state  hash  epoch, holder, status
--   <run>host   string  JSON: the host's process
-- ARGV  1 run prefix  2 epoch  3 holder  4 the heartbeat  5 milliseconds until it expires
-- Answers 1; 0 if another host has the run, or this one has left it.
local state = KEYS[1]
local run, epoch, holder, sign, lease = unpack(ARGV)
local host = run .. 'host'

local held_epoch, held_holder, status = unpack(redis.call('HMGET', state, 'epoch', 'holder', 'status'))
if held_epoch ~= epoch or held_holder ~= holder or (status ~= 'running' and status ~= 'paused') then return 0 end
-- A full server still renews an existing heartbeat, but does not write a new one.
if redis.call('GET', host) ~= sign or redis.call('PEXPIRE', host, lease) == 0 then
  redis.call('SET', host, sign, 'PX', lease)
end
return 1

-- A host confirms the end of its work; only after this may it report that the run is finished.
--   KEYS[1]  <run>state  hash
--   <run>host            string  the host's heartbeat; this script removes it
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 status: finished or stopped
local state = KEYS[1]
local run, epoch, holder, seq, step, status = unpack(ARGV)

local stop = fence(run, epoch, holder, seq, step)
if stop then return stop end
redis.call('HSET', state, 'status', status)
if status ~= 'running' then redis.call('DEL', run .. 'host') end
return {'ok'}

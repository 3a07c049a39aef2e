-- A host confirms the end of its work: only after this may it say that the run is finished.
--   KEYS[1]  <run>state  hash
--   <run>host            string  the host's sign of life, which ends here
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 status: finished or stopped
local stop = fence(ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
if stop then return stop end
redis.call('HSET', KEYS[1], 'status', ARGV[6])
if ARGV[6] ~= 'running' then redis.call('DEL', ARGV[1] .. 'host') end
return {'ok'}

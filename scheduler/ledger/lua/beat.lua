-- A worker says that it is alive. Creates nothing for a run that is gone.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
--   <run>beats                               hash    worker -> counter
-- ARGV  1 prefix without nonce  2 incarnation  3 worker
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return 0 end
local beats = ARGV[1] .. ARGV[2] .. ':beats'
if redis.call('HEXISTS', beats, ARGV[3]) == 0 then return 0 end
return redis.call('HINCRBY', beats, ARGV[3], 1)

-- Ends a run's existence. From here on no host and no worker can write to it: each of their steps looks for one of
-- these two keys first. What else it has is removed afterwards.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
--   <run>state                               hash
-- ARGV  1 run prefix  2 incarnation  3 epoch  4 seq that the host stood at when it was found to do nothing; '' for any
-- Answers 1; 0 when a host has gone on meanwhile, or the run is another one.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return 0 end
local at = redis.call('HMGET', ARGV[1] .. 'state', 'epoch', 'seq')
if ARGV[3] ~= '' and (at[1] ~= ARGV[3] or at[2] ~= ARGV[4]) then return 0 end
redis.call('DEL', KEYS[1], ARGV[1] .. 'state')
return 1

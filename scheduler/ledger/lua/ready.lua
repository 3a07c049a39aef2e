-- A worker takes a trial hint, or answers it. Creates nothing for a run that is gone.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
--   <run>readiness                           hash    key of a trial hint -> asked | taken | answered
-- ARGV  1 prefix without nonce  2 key  3 what it must be  4 what it becomes
-- Answers 1 if it has become so.
local incarnation = redis.call('GET', KEYS[1])
if not incarnation then return 0 end
local readiness = ARGV[1] .. incarnation .. ':readiness'
if redis.call('HGET', readiness, ARGV[2]) ~= ARGV[3] then return 0 end
redis.call('HSET', readiness, ARGV[2], ARGV[4])
return 1

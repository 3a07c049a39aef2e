-- A worker takes a trial hint, or answers it. The script creates nothing for a run that does not exist.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
--   <run>readiness                           hash    key of a trial hint -> asked | taken | answered
-- ARGV  1 prefix without nonce  2 key  3 state that it must have  4 state that it gets
-- Answers 1 if the state has changed.
local present = KEYS[1]
local base, key, was, becomes = unpack(ARGV)

local incarnation = redis.call('GET', present)
if not incarnation then return 0 end
local readiness = base .. incarnation .. ':readiness'
if redis.call('HGET', readiness, key) ~= was then return 0 end
redis.call('HSET', readiness, key, becomes)
return 1

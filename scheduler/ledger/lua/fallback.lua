-- A worker stages the fallback of a job while its attempt runs. It is no result: it is gone when one is staged, or with
-- the job.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
--   <run>job:<key>  hash  an open job; fallback: what its heuristic gives, see scheduler/intake/fallbacks.py
-- ARGV  1 prefix without nonce  2 incarnation  3 job key  4 token  5 the fallback
-- Answers 1; 0 if the job has not this attempt any more.

local base, incarnation, key, token, fallback = unpack(ARGV)
local name = base .. incarnation .. ':job:' .. key

if redis.call('GET', KEYS[1]) ~= incarnation then return 0 end
local state, running = unpack(redis.call('HMGET', name, 'state', 'token'))
if state ~= 'open' or running ~= token then return 0 end
redis.call('HSET', name, 'fallback', fallback)
return 1

-- Stores vectors of texts, or notes a query without a vector; the oldest ones make room.
--   KEYS[1]               the run's incarnation
--   vectors         hash  digest of model and text -> vector
--   vectors_at      zset  the same digests, by the time of storing
--   vectors_wanted  zset  texts, by the time at which they were last searched for
-- ARGV  1 prefix of all keys of the run's name  2 incarnation  3 keep, or want  4 the most that are stored
--       5…  keep: digest, vector, …; want: text
-- Answers 1, or 0 for a run that does not exist: then it writes nothing.

local base, incarnation, verb, bound = unpack(ARGV, 1, 4)
if redis.call('GET', KEYS[1]) ~= incarnation then return 0 end
local run, most = base .. incarnation .. ':', tonumber(bound)
local seconds, microseconds = unpack(redis.call('TIME'))
local now = string.format('%.0f', tonumber(seconds) * 1000000 + tonumber(microseconds))

if verb == 'want' then
  redis.call('ZADD', run .. 'vectors_wanted', now, ARGV[5])
  local above = redis.call('ZCARD', run .. 'vectors_wanted') - most
  if above > 0 then redis.call('ZREM', run .. 'vectors_wanted', unpack(redis.call('ZRANGE', run .. 'vectors_wanted', 0, above - 1))) end
  return 1
end
for at = 5, #ARGV, 2 do
  redis.call('HSET', run .. 'vectors', ARGV[at], ARGV[at + 1])
  redis.call('ZADD', run .. 'vectors_at', now, ARGV[at])
end
local above = redis.call('ZCARD', run .. 'vectors_at') - most
if above > 0 then
  for _, old in ipairs(redis.call('ZRANGE', run .. 'vectors_at', 0, above - 1)) do
    redis.call('HDEL', run .. 'vectors', old)
    redis.call('ZREM', run .. 'vectors_at', old)
  end
end
return 1

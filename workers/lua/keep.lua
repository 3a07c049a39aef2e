-- Stores a text with others of its type: each for a limited time, all within a byte limit. Drops the oldest first.
--   KEYS[1]  hash    field -> text
--   KEYS[2]  zset    field, scored by the time of storing, in milliseconds of this server's clock
--   KEYS[3]  string  bytes of all texts
--   KEYS[4]  string  if given, it must hold ARGV[5]: the script writes nothing for a deleted run
-- ARGV  1 field  2 text  3 bytes for all texts  4 lifetime of each in milliseconds  5 incarnation
-- Answers 1 when it has stored the text.

local texts, times, size, present = unpack(KEYS)
local field, text, bound, milliseconds, incarnation = unpack(ARGV)
local most, lifetime = tonumber(bound), tonumber(milliseconds)

if present and redis.call('GET', present) ~= incarnation then return 0 end
local seconds, microseconds = unpack(redis.call('TIME'))
local now = tonumber(seconds) * 1000 + math.floor(tonumber(microseconds) / 1000)

local function drop(name)
  redis.call('DECRBY', size, redis.call('HSTRLEN', texts, name))
  redis.call('HDEL', texts, name)
  redis.call('ZREM', times, name)
end

drop(field)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', times, '-inf', string.format('%d', now - lifetime))) do drop(old) end
local kept = 0
if #text <= most then
  redis.call('HSET', texts, field, text)
  redis.call('ZADD', times, string.format('%d', now), field)
  local bytes = redis.call('INCRBY', size, #text)
  while bytes > most do
    local oldest = unpack(redis.call('ZRANGE', times, 0, 0))
    drop(oldest)
    bytes = tonumber(redis.call('GET', size))
  end
  kept = 1
end
for _, key in ipairs({texts, times, size}) do redis.call('PEXPIRE', key, milliseconds) end
return kept

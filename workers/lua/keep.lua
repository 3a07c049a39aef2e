-- Keeps a text among others of its sort: each for so long, all of them within so many bytes. The oldest go first.
--   KEYS[1]  hash    field -> text
--   KEYS[2]  zset    field, scored by when it was kept: milliseconds of this server's clock
--   KEYS[3]  string  bytes of all texts
--   KEYS[4]  string  where given, it must hold ARGV[5]: nothing is written for a run that is gone
-- ARGV  1 field  2 text  3 bytes that all may have  4 milliseconds that each is kept  5 incarnation
-- Answers 1 when the text is kept.

if KEYS[4] and redis.call('GET', KEYS[4]) ~= ARGV[5] then return 0 end
local most, lifetime = tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function drop(field)
  redis.call('DECRBY', KEYS[3], redis.call('HSTRLEN', KEYS[1], field))
  redis.call('HDEL', KEYS[1], field)
  redis.call('ZREM', KEYS[2], field)
end

drop(ARGV[1])
for _, field in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%d', now - lifetime))) do drop(field) end
local kept = 0
if #ARGV[2] <= most then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('ZADD', KEYS[2], string.format('%d', now), ARGV[1])
  local bytes = redis.call('INCRBY', KEYS[3], #ARGV[2])
  while bytes > most do
    drop(redis.call('ZRANGE', KEYS[2], 0, 0)[1])
    bytes = tonumber(redis.call('GET', KEYS[3]))
  end
  kept = 1
end
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
return kept

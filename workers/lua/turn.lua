-- Takes hints from a queue's runs in turn and returns their texts; none if no hint is waiting. One ticket is already
-- drawn; each further hint takes another ticket.
-- KEYS: queue. Beside it lie ":runs", the runs that wait by their turns, and ":of:<share>/<run>", their hints.
-- ARGV: the most hints to take.
local queue = KEYS[1]
local runs = queue .. ':runs'

local function oldest_waiting()
  while true do
    local first = redis.call('ZRANGE', runs, 0, 0, 'WITHSCORES')
    if not first[1] then
      return nil
    end
    if redis.call('LLEN', queue .. ':of:' .. first[1]) > 0 then
      return first[1], tonumber(first[2])
    end
    redis.call('ZREM', runs, first[1])
  end
end

local function take()
  local run, turn = oldest_waiting()
  if not run then
    return nil
  end
  -- A run that joins a queue starts at the current turn, without a claim to earlier ones.
  local taken = math.max(turn, tonumber(redis.call('GET', queue .. ':turn') or '0'))
  redis.call('SET', queue .. ':turn', tostring(taken), 'PX', 86400000)
  redis.call('ZADD', runs, taken + 1 / tonumber(string.match(run, '^(%d+)/')), run)
  return redis.call('RPOP', queue .. ':of:' .. run)
end

local hints, most = {}, tonumber(ARGV[1])
repeat
  local hint = take()
  hints[#hints + 1] = hint
until not hint or #hints >= most or not redis.call('RPOP', queue)
-- A worker that died between a ticket and its hint leaves one more hint than there are tickets.
if redis.call('LLEN', queue) == 0 then
  hints[#hints + 1] = hints[1] and take() or nil
  if not oldest_waiting() then
    redis.call('DEL', queue .. ':turn')
  end
end
return hints  -- up to the first missing one

-- Records a caller's report. If others released its slots while it was silent, its calls in flight take them back, and
-- the gate admits no other call until there is room again.
--   KEYS  as in enter.lua and callers.lua
-- ARGV  1 'heard'  2 caller  3 cap on calls in flight, 0 for none  4… token, when its slot is free again, model, …
--   Answers the tokens that took their slots back.
-- ARGV  1 'left'   2… tokens to release, since their calls have ended
-- ARGV  1 'gone'   2 caller that ends; the next script releases what it holds
local verb, caller, cap = unpack(ARGV, 1, 3)
if verb == 'left' then
  for i = 2, #ARGV do free_call(ARGV[i]) end
  return {}
end
if verb == 'gone' then
  redis.call('ZADD', callers, 'XX', 0, caller)
  return {}
end

local seconds, microseconds = unpack(redis.call('TIME'))
local now, again = seconds * 1000000 + microseconds, {}
hear(caller, now)
free_missed(caller, now)
for i = 4, #ARGV, 3 do
  local token, free_at, model = unpack(ARGV, i, i + 2)
  if not redis.call('HGET', calls, token) and tonumber(free_at) > now then
    redis.call('HSET', calls, token, '0 0 ' .. model)
    if tonumber(cap) > 0 then redis.call('ZADD', KEYS[2], free_at, token) end
    if redis.call('HGET', KEYS[1], 'room:' .. model) then redis.call('ZADD', KEYS[2] .. ':' .. model, free_at, token) end
    again[#again + 1] = token
  end
end
return again

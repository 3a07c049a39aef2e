-- Coordinates the probe of an endpoint whose breaker is open, without a call to a model: one worker at a time, over all
-- runs.
--   KEYS  as in enter.lua, leave.lua and callers.lua
-- ARGV  1 'begin'  2 token  3 patience: until the probe expires  4 pace: between two requests, 0 for no limit
--       5 '1' if this worker waited for another probe, whose failure counts as its own  6 address, see server.lua
--   Answers {'go'} | {'done'}: nothing to probe | {'busy', time until the other probe may have ended} | {'paced', time}.
-- ARGV  1 'end'  2 token  3 verdict, as in leave.lua  4 failure, '' for none  5 failures in a row that open
--   Answers {'closed', time open} | {'tries'}: the next call probes | {'open', why} | {'overtaken'}.
local gate = unpack(KEYS)
local verb, token = unpack(ARGV, 1, 2)
local seconds, microseconds = unpack(redis.call('TIME'))
local now = seconds * 1000000 + microseconds
free_missed(nil, now)
if verb == 'begin' then meet_server(ARGV[6], now) end
local state, why, since, probe, probe_until, hold, free =
  unpack(redis.call('HMGET', gate, 'state', 'why', 'since', 'probe', 'probe_until', 'hold', 'requests.free'))
local function number(text) return tonumber(text or 0) or 0 end

if verb == 'begin' then
  local patience, pace, shared = unpack(ARGV, 3, 5)
  if state ~= 'open' or now < number(hold) then return {'done'} end
  if probe and probe ~= '' and now < number(probe_until) then return {'busy', number(probe_until) - now} end
  if shared == '1' then return {'done'} end
  if tonumber(pace) > 0 then
    if now < number(free) then return {'paced', number(free) - now} end
    redis.call('HSET', gate, 'requests.free', now + pace)
  end
  redis.call('HSET', gate, 'probe', token, 'probe_until', now + patience)
  return {'go'}
end

local verdict, failure, streak = unpack(ARGV, 3, 5)
if state ~= 'open' or probe ~= token then return {'overtaken'} end
if verdict ~= 'fine' then
  why = verdict == 'refused' and failure or why
  redis.call('HSET', gate, 'probe', '', 'why', why)
  return {'open', why}
end
if why == 'quota_exhausted' then  -- only a call can show whether the account has quota again
  redis.call('HSET', gate, 'probe', '', 'probe_at', now)
  return {'tries'}
end
-- The server answers; calls will show whether its models do. The first failed call opens the breaker again.
redis.call('HSET', gate, 'state', '', 'since', now, 'why', '', 'probe', '', 'openings', 0, 'latest', '',
  'streak', tonumber(streak) - 1)
redis.call('RPUSH', KEYS[5], string.format('%.0f closed', now))  -- leave.lua trims the list
return {'closed', now - number(since)}

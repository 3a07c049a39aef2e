-- A worker tries an endpoint whose breaker is open, without asking a model: one at a time, of all workers and runs.
--   KEYS  as in enter.lua and leave.lua
-- ARGV  1 'begin'  2 token  3 patience: until it is given up  4 pace: between two requests, 0 for no limit
--       5 '1' if another was waited for, whose failure counts for this one too
--   Answers {'go'} | {'done'}, there is nothing to try | {'busy', time until it may have ended} | {'paced', time}.
-- ARGV  1 'end'  2 token  3 verdict: fine, silent, failing, hopeless  4 failure, '' for none  5 failures in a row that open
--   Answers {'closed', time that it was open} | {'tries'}, the next call does | {'open', why} | {'overtaken'}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local gate = redis.call('HMGET', KEYS[1], 'state', 'why', 'since', 'probe', 'probe_until', 'hold', 'requests.free')
local function number(at) return tonumber(gate[at] or 0) or 0 end

if ARGV[1] == 'begin' then
  if gate[1] ~= 'open' or now < number(6) then return {'done'} end
  if gate[4] and gate[4] ~= '' and now < number(5) then return {'busy', number(5) - now} end
  if ARGV[5] == '1' then return {'done'} end
  local pace = tonumber(ARGV[4])
  if pace > 0 then
    if now < number(7) then return {'paced', number(7) - now} end
    redis.call('HSET', KEYS[1], 'requests.free', now + pace)
  end
  redis.call('HSET', KEYS[1], 'probe', ARGV[2], 'probe_until', now + ARGV[3])
  return {'go'}
end

if gate[1] ~= 'open' or gate[4] ~= ARGV[2] then return {'overtaken'} end
if ARGV[3] ~= 'fine' then
  local why = ARGV[3] == 'hopeless' and ARGV[4] or gate[2]
  redis.call('HSET', KEYS[1], 'probe', '', 'why', why)
  return {'open', why}
end
if gate[2] == 'quota_exhausted' then  -- only a call can tell whether the account has something again
  redis.call('HSET', KEYS[1], 'probe', '', 'probe_at', now)
  return {'tries'}
end
-- The server is there; whether its models answer, calls will show: the first that fails opens the breaker again.
redis.call('HSET', KEYS[1], 'state', '', 'since', now, 'why', '', 'probe', '', 'openings', 0, 'latest', '',
  'streak', tonumber(ARGV[5]) - 1)
return {'closed', now - number(3)}

-- Prelude of the steps that learn the usage of attempts before a job's newest one. All under the run's prefix:
--   <run>retries  hash  token of such an attempt -> JSON: job, used
-- Only the host removes them, with the tick that journals them: for an open job, the tick of its end.

-- `used` is {calls, tokens, usd_micros}.
local function retried(run, token, key, used)
  local calls, tokens, usd_micros = unpack(used)
  if calls + tokens + usd_micros > 0 then
    redis.call('HSET', run .. 'retries', token, cjson.encode({job = key, used = used}))
  end
end

-- {token, JSON, …}
shows[#shows + 1] = {name = 'retries', of = function(run) return redis.call('HGETALL', run .. 'retries') end}

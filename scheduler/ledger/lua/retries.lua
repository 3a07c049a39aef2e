-- Prelude of the steps that learn what attempts before a job's newest one used. All under the run's prefix:
--   <run>retries  hash  token of such an attempt -> JSON: job, used
-- Only the host removes them, with the tick that journals them: of a job that is open, with its end.

local function retried(run, token, key, used)
  if used[1] + used[2] + used[3] > 0 then
    redis.call('HSET', run .. 'retries', token, cjson.encode({job = key, used = used}))
  end
end

-- {token, JSON, …}
local function retries(run) return redis.call('HGETALL', run .. 'retries') end

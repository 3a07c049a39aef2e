-- A host reads the results that have arrived, and expires leases.
--   KEYS[1]  <run>state, and under the run's prefix the keys of accounts.lua, fence.lua, parts.lua, and
--   due:<tick>   set   keys of jobs due at that tick
--   staged       set   keys of jobs whose result is staged
--   beats        hash  worker -> heartbeat counter
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 tick  7 'due' or 'ready'
--       8… tokens whose lease has expired
-- Answers {'ok', rows, attempts, beats, unclaimed, operators' requests, times of answers, shown as in parts.lua}:
-- rows = {key, state, result JSON or '', claims, arrival, …} for the jobs wanted; attempts = {token, record JSON, …} of
-- all unsettled ones; beats = {worker, counter, …}.

local run, epoch, holder, seq, step, tick, mode = unpack(ARGV, 1, 7)
local TOKENS = 8  -- index of the first token whose lease has expired

local stop = fence(run, epoch, holder, seq, step)
local already = stop and stop[1] == 'already'
if stop and not already then return stop end

if not already then
  for i = TOKENS, #ARGV do
    local token = ARGV[i]
    local raw = redis.call('HGET', run .. 'attempts', token)
    if raw then
      local attempt = abandon(run, token, raw)
      local name = run .. 'job:' .. attempt.job
      local state, running = unpack(redis.call('HMGET', name, 'state', 'token'))
      if state == 'open' and running == token then
        redis.call('HINCRBY', name, 'losses', 1)
        free_or_give_up(run, attempt.job, name)
      end
    end
  end
end

return {'ok', rows_due(run, tick, mode), redis.call('HGETALL', run .. 'attempts'),
  redis.call('HGETALL', run .. 'beats'), redis.call('SMEMBERS', run .. 'unclaimed'), asked(run), timed(run), shown(run)}

-- A host asks what has arrived, and expires the leases it has watched run out.
--   KEYS[1]  <run>state, and under the run's prefix the keys of accounts.lua, fence.lua, late.lua, corrections.lua, and
--   due:<tick>   set   keys of jobs due at that tick
--   staged       set   keys of jobs whose result is staged
--   beats        hash  worker -> heartbeat counter
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 tick  7 'due' or 'ready'
--       8… tokens whose lease has run out
-- Answers {'ok', rows, attempts, beats, unclaimed, asked, offered, corrections, timed, retries}:
-- rows = {key, state, result JSON or '', claims, arrival, …} for the jobs wanted; attempts = {token, record JSON, …} of
-- all unsettled ones; beats = {worker, counter, …}; asked and timed as in rows.lua, offered as in late.lua,
-- corrections as in corrections.lua, retries as in retries.lua.

local run = ARGV[1]
local stop = fence(run, ARGV[2], ARGV[3], ARGV[4], ARGV[5])
if stop and stop[1] ~= 'already' then return stop end

if not stop then
  for i = 8, #ARGV do
    local token = ARGV[i]
    local raw = redis.call('HGET', run .. 'attempts', token)
    if raw then
      local attempt = cjson.decode(raw)
      redis.call('HDEL', run .. 'attempts', token)
      redis.call('HSET', run .. 'lost', token, raw)
      book(run, attempt.cells, 'reserved', negative(attempt.reserved))
      book(run, attempt.cells, 'spent', attempt.reserved)
      release_window(run, attempt.tick)
      leaves_worker(run, token, attempt)
      local name = run .. 'job:' .. attempt.job
      local job = redis.call('HMGET', name, 'state', 'token')
      if job[1] == 'open' and job[2] == token then
        redis.call('HINCRBY', name, 'losses', 1)
        free_or_give_up(run, attempt.job, name)
      end
    end
  end
end

return {'ok', rows_due(run, ARGV[6], ARGV[7]), redis.call('HGETALL', run .. 'attempts'), redis.call('HGETALL', run .. 'beats'),
  redis.call('SMEMBERS', run .. 'unclaimed'), asked(run), offered(run), corrections(run), timed(run),
  retries(run)}

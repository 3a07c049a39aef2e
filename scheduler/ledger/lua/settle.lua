-- A worker reports an attempt. The script always books its actual usage. It stages the result only if this attempt is
-- the job's newest and the job is still open. For a job that is dead or has ended it may offer the first answer of a
-- model, from any attempt.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
-- and under the run's prefix the keys of accounts.lua, late.lua, corrections.lua and retries.lua, and
--   staged  set   keys of jobs whose result is staged
--   arrivals  string  results staged so far
--   timed   list  "<last committed tick> <note>" of answers that were staged, or that arrived after their job's end
--   state   hash  times: '1' while the host wants `timed`
-- ARGV  1 prefix without nonce  2 incarnation  3 job key  4 token  5 result JSON, or '' for none
--       6 7 8 calls, tokens, micro-dollars used  9 class of the attempt's failure, '' for none
--       10 note on the time of an answer, or ''
-- Answers staged | offered | freed | accounted | already | unknown | gone.

local present = KEYS[1]
local base, incarnation, key, token, result, calls, tokens, usd_micros, failure, time_note = unpack(ARGV)
local run = base .. incarnation .. ':'
local name = run .. 'job:' .. key
local used = {tonumber(calls), tonumber(tokens), tonumber(usd_micros)}

if redis.call('GET', present) ~= incarnation then return 'gone' end
if redis.call('EXISTS', run .. 'state') == 0 then return 'gone' end

local raw = redis.call('HGET', run .. 'attempts', token)
local lost = not raw and redis.call('HGET', run .. 'lost', token)
if not raw and not lost then
  if redis.call('HGET', name, 'latest') == token then return 'already' end
  return 'unknown'
end

local attempt = cjson.decode(raw or lost)
if raw then
  redis.call('HDEL', run .. 'attempts', token)
  book(run, attempt.cells, 'reserved', negative(attempt.reserved))
  book(run, attempt.cells, 'spent', used)
  release_window(run, attempt.tick)
  leaves_worker(run, token, attempt)
else
  redis.call('HDEL', run .. 'lost', token)
  book(run, attempt.cells, 'spent', minus(used, attempt.reserved))
end
book(run, attempt.cells, 'overrun', above(used, attempt.reserved))
if attempt.pooled == 1 then
  book(run, attempt.cells, 'pool', minus(used, attempt.reserved))
  retried(run, token, key, used)
end
if redis.call('HGET', run .. 'unsettled', key) == token then
  redis.call('HDEL', run .. 'unsettled', key)
  correct(run, key, used, result, redis.call('HGET', run .. 'state', 'tick'))
end

local function note_time()
  local wanted, tick = unpack(redis.call('HMGET', run .. 'state', 'times', 'tick'))
  if (time_note or '') ~= '' and wanted == '1' then redis.call('RPUSH', run .. 'timed', tick .. ' ' .. time_note) end
end

local state, running, latest, due = unpack(redis.call('HMGET', name, 'state', 'token', 'latest', 'due'))
if not state then note_time() end
if not state and offer(run, key, result) then return 'offered' end
if state == 'dead' and is_answer(result) then redis.call('HSETNX', name, 'result', result) end  -- offered at the end
if latest ~= token then return 'accounted' end
redis.call('HSET', name, 'last', cjson.encode(used))
if state ~= 'open' then return 'accounted' end
if result == '' then
  if running ~= token then return 'accounted' end
  if failure ~= '' then redis.call('HSET', name, 'failure', failure) end
  free_or_give_up(run, key, name)
  return 'freed'
end
-- Only the host writes the state, so a separate key counts results; runs of earlier versions counted them in the state.
redis.call('SETNX', run .. 'arrivals', redis.call('HGET', run .. 'state', 'arrivals') or '0')
-- The newest attempt counts even if its lease has expired, because the job has not been claimed since.
redis.call('HSET', name, 'state', 'staged', 'token', '', 'result', result,
  'arrival', redis.call('INCR', run .. 'arrivals'))
redis.call('SREM', run .. 'unclaimed', key)
redis.call('SADD', run .. 'staged', key)
note_time()
arrived(run, due)
return 'staged'

-- The steps of the worker process that sends a run's batches, polls them and hands out their answers. One process at a
-- time holds the run's desk and does this. A process that takes over the desk continues from these keys.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
-- and under the run's prefix the keys of accounts.lua, those of park.lua, and
--   batches     hash    tag -> JSON of a batch: its endpoint, its id once known, and its tokens
--   batch_desk  string  nonce of the process that holds the desk; expires with it
--   beats       hash    worker -> heartbeat counter
-- ARGV  1 prefix without nonce  2 incarnation  3 nonce of the process  4 milliseconds until the desk is free again
--       5 worker  6 step  7… its arguments
-- Answers nil if another process holds the desk, or the run does not exist; otherwise the answer of the step:
--   look                          {tick, status, seconds of the server's clock, batches,
--                                 {token, JSON, '1' if its job still waits for it, …}}
--   record   tag, JSON            1; the requests stay
--   lines    tokens…              their requests
--   sent     tag, JSON, tokens…   1; the requests are removed
--   release  tokens…              tokens whose jobs do not wait; the other jobs become unclaimed again, and their
--                                 requests are sent alone
--   abandon  tokens…              1; jobs that wait for these attempts may be claimed again
--   done     tokens…              1; these attempts are settled
--   close    tag                  1

local present = KEYS[1]
local base, incarnation, nonce, milliseconds, worker, step = unpack(ARGV, 1, 6)
local run = base .. incarnation .. ':'

if redis.call('GET', present) ~= incarnation then return nil end
local tick, status = unpack(redis.call('HMGET', run .. 'state', 'tick', 'status'))
if not tick then return nil end
local holder = redis.call('GET', run .. 'batch_desk')
if holder and holder ~= nonce then return nil end
redis.call('SET', run .. 'batch_desk', nonce, 'PX', milliseconds)

local function waits(token, key)
  local state, running = unpack(redis.call('HMGET', run .. 'job:' .. key, 'state', 'token'))
  return state == 'open' and running == token
end

local function job_of(token)
  local raw = redis.call('HGET', run .. 'batched', token)
  return raw and cjson.decode(raw).job
end

local function forget(token)
  redis.call('HDEL', run .. 'batched', token)
  redis.call('HDEL', run .. 'batch_lines', token)
end

if step == 'look' then
  redis.call('HSETNX', run .. 'beats', worker, 0)
  redis.call('HINCRBY', run .. 'beats', worker, 1)
  local found, batched = {}, redis.call('HGETALL', run .. 'batched')
  for i = 1, #batched, 2 do
    local token, raw = unpack(batched, i, i + 1)
    found[#found + 1] = token
    found[#found + 1] = raw
    found[#found + 1] = waits(token, cjson.decode(raw).job) and '1' or ''
  end
  return {tick, status, redis.call('TIME')[1], redis.call('HGETALL', run .. 'batches'), found}
end
if step == 'record' then
  redis.call('HSET', run .. 'batches', ARGV[7], ARGV[8])
elseif step == 'lines' then
  local lines = {}
  for i = 7, #ARGV do lines[#lines + 1] = redis.call('HGET', run .. 'batch_lines', ARGV[i]) or '' end
  return lines
elseif step == 'sent' then
  redis.call('HSET', run .. 'batches', ARGV[7], ARGV[8])
  for i = 9, #ARGV do redis.call('HDEL', run .. 'batch_lines', ARGV[i]) end
elseif step == 'release' then
  local left = {}
  for i = 7, #ARGV do
    local token = ARGV[i]
    local key, raw = job_of(token), redis.call('HGET', run .. 'attempts', token)
    if key and raw and waits(token, key) then
      local attempt, name = cjson.decode(raw), run .. 'job:' .. key
      redis.call('HDEL', run .. 'attempts', token)
      leaves_worker(run, token, attempt)
      release_window(run, attempt.tick)
      redis.call('HSET', name, 'token', '', 'latest', '', 'claims', 0, 'single', '1')
      redis.call('SADD', run .. 'unclaimed', key)
      forget(token)
    elseif key then
      left[#left + 1] = token
    end
  end
  return left
elseif step == 'abandon' then
  for i = 7, #ARGV do
    local token = ARGV[i]
    local key, raw = job_of(token), redis.call('HGET', run .. 'attempts', token)
    if key and raw then
      local waited = waits(token, key)
      abandon(run, token, raw)
      if waited then free_or_give_up(run, key, run .. 'job:' .. key) end
    end
  end
elseif step == 'done' then
  for i = 7, #ARGV do forget(ARGV[i]) end
elseif step == 'close' then
  redis.call('HDEL', run .. 'batches', ARGV[7])
end
return 1

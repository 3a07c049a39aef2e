-- A worker claims a job, unless overruns have used up the limit that its attempt needs. From the second attempt on, the
-- script takes a reservation from the retry pool, or from what the jobs of its tick have left of a limit.
--   KEYS[1]  cogitate:{<name>}:incarnation   string  nonce of the run's present incarnation
-- and under cogitate:{<name>}:<nonce>: (the run's prefix) the keys of accounts.lua and retries.lua, and
--   state         hash    tick, status, schema
--   beats         hash    worker -> heartbeat counter
--   owners        hash    owner -> profile JSON
--   served        hash    minute of the server's clock, modulo 8 -> that minute and the claims in it, for operators
--   origin_outcomes  hash  in a fork: job key -> JSON of its result in the source
--   origin_answers   hash  in a fork: question -> JSON answer that its source recorded
--   entries:<o>   hash    number -> JSON of a live entry
--   archive:<o>   hash    number -> JSON of an archived entry
--   archived:<o>  zset    number, scored by the tick that archived it
-- ARGV  1 prefix without nonce  2 job key  3 worker  4 token  5 schema that the worker reads
--       6 '1' if the token must already hold the job, like that of an attempt whose request was in a batch
-- Answers {'ok', incarnation, attempt number, cap on claims, job JSON, profile JSON, {owner, {entry JSON, …}, …},
--      committed tick, in a fork: JSON of the job's result in the source, or '',
--      1 if the fork has answers that its source recorded}
--      or {reason}: gone, paused, newer, older, closed, claimed, late, dead, alone.
--
-- A job that has lost this many workers may have killed them. From then on it runs alone in its worker, so no other
-- attempt dies with it. So a job that shared its workers loses at most this many claims.

local SUSPECT = 2

local present = KEYS[1]
local base, key, worker, token, schema, held = unpack(ARGV)
local known = tonumber(schema)

local incarnation = redis.call('GET', present)
if not incarnation then return {'gone'} end
local run = base .. incarnation .. ':'
local committed, status, run_schema = unpack(redis.call('HMGET', run .. 'state', 'tick', 'status', 'schema'))
if not committed then return {'gone'} end
if status ~= 'running' then return {'paused'} end
if tonumber(run_schema) > known then return {'newer'} end
if tonumber(run_schema) < known then return {'older'} end

local name = run .. 'job:' .. key
local state, running, claimed, due, tick, job_schema, losses, earlier_tokens =
  unpack(redis.call('HMGET', name, 'state', 'token', 'claims', 'due', 'tick', 'schema', 'losses', 'attempts'))
local job, owner, reads, calls, tokens, usd_micros, booked, pools, usage, latest = unpack(redis.call(
  'HMGET', name, 'job', 'owner', 'reads', 'calls', 'tokens', 'usd_micros', 'cells', 'pools', 'last', 'latest'))
if state ~= 'open' then return {'closed'} end
if tonumber(job_schema) > known then return {'newer'} end
if tonumber(due) <= tonumber(committed) then return {'late'} end
local claims, cap = tonumber(claimed), claim_cap(run)
local suspect = tonumber(losses or 0) >= math.max(1, math.min(SUSPECT, cap - 1))

if running ~= token then  -- otherwise this same claim was granted, and its reply was lost
  if running ~= '' or held == '1' then return {'claimed'} end
  -- A client repeats a call without a reply. If the lease of the first claim has expired by then, its attempt is over.
  if earlier_tokens and earlier_tokens:find(' ' .. token .. ' ', 1, true) then return {'claimed'} end
  if claims >= cap then
    give_up(run, key, name)
    return {'dead'}
  end
  if suspect then
    for _, attempt in ipairs(redis.call('HVALS', run .. 'attempts')) do
      local other = cjson.decode(attempt)
      if other.worker == worker and other.batched ~= 1 then return {'alone'} end
    end
  end
  if redis.call('HEXISTS', run .. 'alone', worker) == 1 then return {'alone'} end
  local reserved = {tonumber(calls), tonumber(tokens), tonumber(usd_micros)}
  local cells, last = cjson.decode(booked), cjson.decode(usage)
  for _, pool in ipairs(cjson.decode(pools)) do
    local window, scope, unit, limit, whole = unpack(pool)  -- unit: its index in UNITS
    local function held(account)
      return tonumber(redis.call('HGET', run .. 'window:' .. window, scope .. '|' .. UNITS[unit] .. '|' .. account) or 0)
    end
    -- If calls have cost more than their reservations, jobs that were admitted before this was known make no call.
    local passed = whole and reserved[unit] > 0 and held('spent') + reserved[unit] > whole
    local pooled = held('pool') + last[unit] <= limit
    -- A committed tick admits no more jobs, so what its jobs have left of its limit pays for further attempts.
    local left = whole and window:sub(1, 5) == 'tick:' and held('reserved') + held('spent') + reserved[unit] <= whole
    if passed or (claims > 0 and not (pooled or left)) then
      redis.call('HSET', name, 'empty', window .. ' ' .. scope .. ' ' .. UNITS[unit])
      give_up(run, key, name)
      return {'dead'}
    end
  end
  if claims > 0 then
    book(run, cells, 'pool', last)
    book(run, cells, 'reserved', reserved)
    local settled = true
    for _, record_of in ipairs({'attempts', 'lost'}) do
      local earlier = redis.call('HGET', run .. record_of, latest)
      if earlier then
        settled = false
        local record = cjson.decode(earlier)
        record.pooled = 1
        redis.call('HSET', run .. record_of, latest, cjson.encode(record))
      end
    end
    if settled then retried(run, latest, key, last) end
  end
  claims = claims + 1
  redis.call('HSET', name, 'token', token, 'latest', token, 'claims', claims, 'last', cjson.encode(reserved),
    'attempts', (earlier_tokens or ' ') .. token .. ' ')
  redis.call('SREM', run .. 'unclaimed', key)
  redis.call('HSET', run .. 'attempts', token, cjson.encode({
    job = key, worker = worker, tick = tonumber(tick), cells = cells, reserved = reserved, pooled = 0}))
  redis.call('HINCRBY', run .. 'open', tick, 1)
  redis.call('HSETNX', run .. 'beats', worker, 0)
  if suspect then redis.call('HSET', run .. 'alone', worker, token) end
  local minute = string.format('%d', math.floor(redis.call('TIME')[1] / 60))
  local slot = string.format('%d', minute % 8)
  local counted, count = (redis.call('HGET', run .. 'served', slot) or ''):match('^(%d+) (%d+)$')
  redis.call('HSET', run .. 'served', slot, minute .. ' ' .. string.format('%d', counted == minute and count + 1 or 1))
end

local memories = {}
for _, read in ipairs(cjson.decode(reads)) do
  local memory, found = read.owner, {}
  local function take(values)
    for _, value in ipairs(values) do
      if value then found[#found + 1] = value end
    end
  end
  local live, archive = run .. 'entries:' .. memory, run .. 'archive:' .. memory
  if read.numbers and read.numbers ~= cjson.null then
    for _, n in ipairs(read.numbers) do
      local number = string.format('%d', n)
      take({redis.call('HGET', live, number) or redis.call('HGET', archive, number)})
    end
  else
    take(redis.call('HVALS', live))
    for _, number in ipairs(redis.call('ZRANGEBYSCORE', run .. 'archived:' .. memory, '(' .. tick, '+inf')) do
      take({redis.call('HGET', archive, number)})
    end
  end
  memories[#memories + 1] = memory
  memories[#memories + 1] = found
end
return {'ok', incarnation, claims, cap, job, redis.call('HGET', run .. 'owners', owner) or '', memories, committed,
  redis.call('HGET', run .. 'origin_outcomes', key) or '', redis.call('EXISTS', run .. 'origin_answers')}

-- A worker asks for a job. Takes a reservation from the retry pool when this is not the first attempt.
--   KEYS[1]  cogitate:{<name>}:incarnation   string  nonce of the run's present incarnation
-- and under cogitate:{<name>}:<nonce>: (the run's prefix) the keys of accounts.lua and retries.lua, and
--   state         hash    tick, status, schema
--   beats         hash    worker -> heartbeat counter
--   owners        hash    owner -> profile JSON
--   entries:<o>   hash    number -> JSON of a live entry
--   archive:<o>   hash    number -> JSON of an archived entry
--   archived:<o>  zset    number, scored by the tick that archived it
-- ARGV  1 prefix without nonce  2 job key  3 worker  4 token  5 newest schema that the worker knows
-- Answers {'ok', incarnation, attempt number, cap on claims, job JSON, profile JSON, {owner, {entry JSON, …}, …}}
--      or {reason}: gone, paused, newer, closed, claimed, late, dead, alone.
--
-- A job that has lost so many workers may be what kills them. From then on it runs alone in its worker, so that it takes
-- nobody else's attempt along: whoever shares a worker with such a job loses that many claims to it, and no more.

local SUSPECT = 2

local incarnation = redis.call('GET', KEYS[1])
if not incarnation then return {'gone'} end
local run = ARGV[1] .. incarnation .. ':'
local key, worker, token = ARGV[2], ARGV[3], ARGV[4]
local state = redis.call('HMGET', run .. 'state', 'tick', 'status', 'schema')
if not state[1] then return {'gone'} end
if state[2] ~= 'running' then return {'paused'} end
local known = tonumber(ARGV[5])
if tonumber(state[3]) > known then return {'newer'} end

local name = run .. 'job:' .. key
local job = redis.call('HMGET', name, 'state', 'token', 'claims', 'due', 'job', 'owner', 'calls', 'tokens', 'usd_micros',
  'cells', 'pools', 'last', 'latest', 'tick', 'reads', 'schema', 'losses')
if not job[1] or job[1] ~= 'open' then return {'closed'} end
if tonumber(job[16] or '1') > known then return {'newer'} end  -- of before jobs said it: 1
if tonumber(job[4]) <= tonumber(state[1]) then return {'late'} end
local claims, cap = tonumber(job[3]), claim_cap(run)
local suspect = tonumber(job[17] or 0) >= math.max(1, math.min(SUSPECT, cap - 1))

if job[2] ~= token then  -- otherwise this very claim was made and its reply lost
  if job[2] ~= '' then return {'claimed'} end
  if claims >= cap then
    give_up(run, key, name)
    return {'dead'}
  end
  if suspect then
    for _, running in ipairs(redis.call('HVALS', run .. 'attempts')) do
      if cjson.decode(running).worker == worker then return {'alone'} end
    end
  end
  if redis.call('HEXISTS', run .. 'alone', worker) == 1 then return {'alone'} end
  local reserved = {tonumber(job[7]), tonumber(job[8]), tonumber(job[9])}
  local cells = cjson.decode(job[10])
  if claims > 0 then
    local last = cjson.decode(job[12])
    for _, pool in ipairs(cjson.decode(job[11])) do  -- {window, scope, unit index, limit of the pool}
      local held = tonumber(redis.call('HGET', run .. 'window:' .. pool[1], pool[2] .. '|' .. UNITS[pool[3]] .. '|pool') or 0)
      if held + last[pool[3]] > pool[4] then
        redis.call('HSET', name, 'empty', pool[1] .. ' ' .. pool[2] .. ' ' .. UNITS[pool[3]])
        give_up(run, key, name)
        return {'dead'}
      end
    end
    book(run, cells, 'pool', last)
    book(run, cells, 'reserved', reserved)
    local settled = true
    for _, record_of in ipairs({'attempts', 'lost'}) do
      local earlier = redis.call('HGET', run .. record_of, job[13])
      if earlier then
        settled = false
        local record = cjson.decode(earlier)
        record.pooled = 1
        redis.call('HSET', run .. record_of, job[13], cjson.encode(record))
      end
    end
    if settled then retried(run, job[13], key, last) end
  end
  claims = claims + 1
  redis.call('HSET', name, 'token', token, 'latest', token, 'claims', claims, 'last', cjson.encode(reserved))
  redis.call('SREM', run .. 'unclaimed', key)
  redis.call('HSET', run .. 'attempts', token, cjson.encode({
    job = key, worker = worker, tick = tonumber(job[14]), cells = cells, reserved = reserved, pooled = 0}))
  redis.call('HINCRBY', run .. 'open', job[14], 1)
  redis.call('HSETNX', run .. 'beats', worker, 0)
  if suspect then redis.call('HSET', run .. 'alone', worker, token) end
end

local memories = {}
for _, reads in ipairs(cjson.decode(job[15])) do
  local owner, found = reads.owner, {}
  local function take(values)
    for _, value in ipairs(values) do
      if value then found[#found + 1] = value end
    end
  end
  if reads.numbers and reads.numbers ~= cjson.null then
    for _, n in ipairs(reads.numbers) do
      local number = string.format('%d', n)
      take({redis.call('HGET', run .. 'entries:' .. owner, number) or redis.call('HGET', run .. 'archive:' .. owner, number)})
    end
  else
    take(redis.call('HVALS', run .. 'entries:' .. owner))
    for _, number in ipairs(redis.call('ZRANGEBYSCORE', run .. 'archived:' .. owner, '(' .. job[14], '+inf')) do
      take({redis.call('HGET', run .. 'archive:' .. owner, number)})
    end
  end
  memories[#memories + 1] = owner
  memories[#memories + 1] = found
end
return {'ok', incarnation, claims, cap, job[5], redis.call('HGET', run .. 'owners', job[6]) or '', memories}

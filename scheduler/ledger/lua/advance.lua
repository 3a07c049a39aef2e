-- A host commits one whole tick: ends, effects, observations, admissions, journal, checkpoint and the next tick's
-- number. Either all of it happened or none of it.
--   KEYS[1]  <run>state, and under the run's prefix the keys of accounts.lua, fence.lua, rows.lua, late.lua,
--            corrections.lua, and
--   jobs         set   keys of all open jobs
--   journal      list  one line a tick
--   windows      set   windows that exist
-- and whatever the writes name (entries:<owner>, archive:<owner>, head:<owner>, view, …), always under the prefix.
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 tick  7 journal line  8 digest  9 chain
--       10 'due' or 'ready'  11 number of jobs that are awaited from now on  then for each: key, JSON for the host
--       then the number of closed jobs that admission counts in full  then for each: key, JSON for the host
--       then the number of closed jobs, these included  then their keys
--       then the number of windows to delete  then for each: window, first and last enqueue tick that may name it
--       then the writes: command, key without prefix, number of arguments, arguments…
--       or command, key without prefix, 'numbers', all arguments as one text
-- Answers {'ok', rows due at the next tick, windows deleted, asked as in rows.lua, offered as in late.lua, corrections as
-- in corrections.lua, timed as in rows.lua, retries as in retries.lua} or an answer of fence.lua.

local run = ARGV[1]
local stop = fence(run, ARGV[2], ARGV[3], ARGV[4], ARGV[5])
if stop then return stop end
local tick = tonumber(ARGV[6])
local at = tonumber(redis.call('HGET', run .. 'state', 'tick'))
if at ~= tick - 1 then return {'fenced', ARGV[2], tostring(at)} end

local i = 11
local awaited = tonumber(ARGV[i])
for _ = 1, awaited do
  local key = ARGV[i + 1]
  redis.call('HSET', run .. 'awaited', key, ARGV[i + 2])
  local result = redis.call('HGET', run .. 'job:' .. key, 'result')
  if result then offer(run, key, result) end  -- it came after the host had looked
  i = i + 2
end

i = i + 1
local charged = tonumber(ARGV[i])
for _ = 1, charged do
  local key = ARGV[i + 1]
  redis.call('HSET', run .. 'charged', key, ARGV[i + 2])
  local job = redis.call('HMGET', run .. 'job:' .. key, 'claims', 'latest', 'last', 'state', 'result')
  local readable, last = pcall(cjson.decode, job[3] or '')
  if tonumber(job[1] or '') == 0 then
    correct(run, key, {0, 0, 0}, '', tick)
  elseif redis.call('HEXISTS', run .. 'attempts', job[2] or '') == 1 or redis.call('HEXISTS', run .. 'lost', job[2] or '') == 1 then
    redis.call('HSET', run .. 'unsettled', key, job[2])
  elseif readable and type(last) == 'table' then
    correct(run, key, last, job[4] == 'staged' and job[5] or '', tick)
  end  -- otherwise somebody has removed or changed its record
  i = i + 2
end

i = i + 1
local closed = tonumber(ARGV[i])
for _ = 1, closed do
  i = i + 1
  local key = ARGV[i]
  local name = run .. 'job:' .. key
  local job = redis.call('HMGET', name, 'state', 'claims', 'due', 'tick', 'calls', 'tokens', 'usd_micros', 'cells')
  if job[1] then
    if job[1] == 'open' and tonumber(job[3]) > tick then arrived(run, job[3]) end
    if job[1] ~= 'held' then
      if tonumber(job[2]) == 0 then  -- never claimed: what was reserved for it is free again
        book(run, cjson.decode(job[8]), 'reserved', {-tonumber(job[5]), -tonumber(job[6]), -tonumber(job[7])})
      end
      release_window(run, job[4])
    end
    redis.call('SREM', run .. 'unclaimed', key)
    redis.call('SREM', run .. 'staged', key)
    redis.call('SREM', run .. 'due:' .. job[3], key)
    redis.call('SREM', run .. 'jobs', key)
    redis.call('DEL', name)
  end
end
redis.call('HDEL', run .. 'waiting', ARGV[6])
redis.call('DEL', run .. 'ready:' .. ARGV[6], run .. 'due:' .. ARGV[6])

i = i + 1
local windows, deleted = tonumber(ARGV[i]), {}
for _ = 1, windows do
  local window, first, last = ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  i = i + 3
  local named = false
  if first == last then
    named = redis.call('HEXISTS', run .. 'open', ARGV[i]) == 1
  else
    for _, open in ipairs(redis.call('HKEYS', run .. 'open')) do
      if tonumber(open) >= first and tonumber(open) <= last then named = true end
    end
  end
  if not named then
    redis.call('DEL', run .. 'window:' .. window)
    redis.call('SREM', run .. 'windows', window)
    deleted[#deleted + 1] = window
    if first ~= last then
      local lost = redis.call('HGETALL', run .. 'lost')
      for l = 1, #lost, 2 do
        local attempt = cjson.decode(lost[l + 1])
        if attempt.tick >= first and attempt.tick <= last then
          redis.call('HDEL', run .. 'lost', lost[l])
          if redis.call('HGET', run .. 'unsettled', attempt.job) == lost[l] then
            redis.call('HDEL', run .. 'unsettled', attempt.job)  -- it stays counted in full
          end
        end
      end
    end
  end
end

i = i + 1
while i <= #ARGV do
  if ARGV[i + 2] == 'numbers' then
    local numbers = {}
    for number in ARGV[i + 3]:gmatch('%S+') do numbers[#numbers + 1] = number end
    redis.call(ARGV[i], run .. ARGV[i + 1], unpack(numbers))
    i = i + 4
  else
    local count = tonumber(ARGV[i + 2])
    redis.call(ARGV[i], run .. ARGV[i + 1], unpack(ARGV, i + 3, i + 2 + count))
    i = i + 3 + count
  end
end

redis.call('RPUSH', run .. 'journal', ARGV[7])
redis.call('HSET', run .. 'state', 'tick', ARGV[6], 'digest', ARGV[8], 'chain', ARGV[9])
return {'ok', rows_due(run, string.format('%d', tick + 1), ARGV[10]), deleted, asked(run), offered(run),
  corrections(run), timed(run), retries(run)}

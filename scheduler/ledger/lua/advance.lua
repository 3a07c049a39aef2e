-- A host commits one tick (ends, effects, observations, admissions, journal, checkpoint and the next tick's number) or
-- several consecutive ticks. The script writes either everything or nothing.
--   KEYS[1]  <run>state, and under the run's prefix the keys of accounts.lua, fence.lua, rows.lua,
--            parts.lua, and
--   jobs         set   keys of all open jobs
--   journal      list  one line per tick
--   windows      set   windows that exist
-- and the keys that the writes name (entries:<owner>, archive:<owner>, head:<owner>, view, …), always under the prefix.
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 'due' or 'ready'
--       7 JSON: a list of ticks, one after the other; each is
--           [tick, journal line, digest, chain,
--            [[hash that remembers closed jobs, see parts.lua, [[key, JSON for the host], …]], …],
--            [keys of closed jobs, these included],
--            [[window to delete, first and last enqueue tick that may name it], …],
--            [[arguments that commands share], …],
--            [[command, key without prefix, [arguments], number of the shared ones that follow them or nothing], …]]
--       8…  values that are not text: [n] in the JSON stands for the n-th of them
-- Answers {'ok', rows due at the next tick, windows deleted, operators' requests, times of answers, shown as in
-- parts.lua} or an answer of fence.lua.

local run, epoch, holder, seq, step, mode, ticks = unpack(ARGV, 1, 7)
local deleted = {}  -- windows

-- Return the value that an item of the JSON stands for.
local function meant(value)
  if type(value) == 'table' then return ARGV[7 + value[1]] end
  return value
end

-- Commit a tick, and return its number.
local function commit(given)
  local tick, line, digest, chain, records, closed, windows, shared, writes = unpack(given)
  local number = string.format('%d', tick)
  for _, of in ipairs(records) do
    local name, jobs = unpack(of)
    for _, job in ipairs(jobs) do
      local key, record = unpack(job)
      redis.call('HSET', run .. name, key, meant(record))
      remember[name](run, key, tick)
    end
  end

  for _, key in ipairs(closed) do
    local name = run .. 'job:' .. key
    local state, claims, due, enqueued, calls, tokens, usd_micros, cells =
      unpack(redis.call('HMGET', name, 'state', 'claims', 'due', 'tick', 'calls', 'tokens', 'usd_micros', 'cells'))
    if state then
      if state == 'open' and tonumber(due) > tick then arrived(run, due) end
      if state ~= 'held' then
        if tonumber(claims) == 0 then  -- never claimed: free its reservation
          book(run, cjson.decode(cells), 'reserved', {-tonumber(calls), -tonumber(tokens), -tonumber(usd_micros)})
        end
        release_window(run, enqueued)
      end
      redis.call('SREM', run .. 'unclaimed', key)
      redis.call('SREM', run .. 'staged', key)
      redis.call('SREM', run .. 'due:' .. due, key)
      redis.call('SREM', run .. 'jobs', key)
      redis.call('DEL', name)
    end
  end
  redis.call('HDEL', run .. 'waiting', number)
  redis.call('DEL', run .. 'ready:' .. number, run .. 'due:' .. number)

  for _, ended in ipairs(windows) do
    local window, first, last = unpack(ended)
    local named = false
    if first == last then
      named = redis.call('HEXISTS', run .. 'open', last) == 1
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
          local token, raw = unpack(lost, l, l + 1)
          local attempt = cjson.decode(raw)
          if attempt.tick >= first and attempt.tick <= last then
            redis.call('HDEL', run .. 'lost', token)
            if redis.call('HGET', run .. 'unsettled', attempt.job) == token then
              redis.call('HDEL', run .. 'unsettled', attempt.job)  -- it stays counted in full
            end
          end
        end
      end
    end
  end

  for _, write in ipairs(writes) do
    local command, key, arguments, common = unpack(write)
    for at, argument in ipairs(arguments) do arguments[at] = meant(argument) end
    for _, argument in ipairs(shared[common] or {}) do arguments[#arguments + 1] = meant(argument) end
    redis.call(command, run .. key, unpack(arguments))
  end

  redis.call('RPUSH', run .. 'journal', meant(line))
  redis.call('HSET', run .. 'state', 'tick', number, 'digest', digest, 'chain', chain)
  return tick
end

local stop = fence(run, epoch, holder, seq, step)
if stop then return stop end
local at = tonumber(redis.call('HGET', run .. 'state', 'tick'))
local given, tick = cjson.decode(ticks), nil
if at ~= given[1][1] - 1 then return {'fenced', epoch, tostring(at)} end
for _, one in ipairs(given) do tick = commit(one) end
return {'ok', rows_due(run, string.format('%d', tick + 1), mode), deleted, asked(run), timed(run), shown(run)}

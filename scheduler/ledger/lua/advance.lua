-- A host commits one tick: ends, effects, observations, admissions, journal, checkpoint and the next tick's
-- number; or several that follow each other. Either all of it happened or none of it.
--   KEYS[1]  <run>state, and under the run's prefix the keys of accounts.lua, fence.lua, rows.lua,
--            parts.lua, and
--   jobs         set   keys of all open jobs
--   journal      list  one line a tick
--   windows      set   windows that exist
-- and the keys that the writes name (entries:<owner>, archive:<owner>, head:<owner>, view, …), always under the prefix.
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 'due' or 'ready'  7 number of ticks, one after the other
--       then for each: tick  journal line  digest  chain  number of hashes that remember closed jobs, see parts.lua
--       then for each of these: name, number of jobs  then for each of these: key, JSON for the host
--       then the number of closed jobs, these included  then their keys
--       then the number of windows to delete  then for each: window, first and last enqueue tick that may name it
--       then the number of writes  then for each: command, key without prefix, number of arguments, arguments…
--       or command, key without prefix, 'numbers', all arguments as one text
--       or command, key without prefix, 'shared', number of own arguments, these; the shared ones follow them
--       or '', '', number of shared arguments, these: they take the place of earlier ones
-- Answers {'ok', rows due at the next tick, windows deleted, operators' requests, times of answers, shown as in
-- parts.lua} or an answer of fence.lua.

local run, epoch, holder, seq, step, mode, ticks = unpack(ARGV, 1, 7)
local read = 7  -- arguments read so far
local deleted = {}  -- windows

-- The next `count` arguments.
local function take(count)
  read = read + count
  return unpack(ARGV, read - count + 1, read)
end

-- Commit the next tick of the arguments, and return its number.
local function commit()
  local number, line, digest, chain = take(4)
  local tick = tonumber(number)
  local kinds = tonumber(take(1))
  for _ = 1, kinds do
    local name, records = take(2)
    for _ = 1, tonumber(records) do
      local key, record = take(2)
      redis.call('HSET', run .. name, key, record)
      remember[name](run, key, tick)
    end
  end

  local closed = tonumber(take(1))
  for _ = 1, closed do
    local key = take(1)
    local name = run .. 'job:' .. key
    local state, claims, due, enqueued, calls, tokens, usd_micros, cells =
      unpack(redis.call('HMGET', name, 'state', 'claims', 'due', 'tick', 'calls', 'tokens', 'usd_micros', 'cells'))
    if state then
      if state == 'open' and tonumber(due) > tick then arrived(run, due) end
      if state ~= 'held' then
        if tonumber(claims) == 0 then  -- never claimed: what was reserved for it is free again
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

  local windows = tonumber(take(1))
  for _ = 1, windows do
    local window, opens, closes = take(3)
    local first, last = tonumber(opens), tonumber(closes)
    local named = false
    if first == last then
      named = redis.call('HEXISTS', run .. 'open', closes) == 1
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

  local writes = tonumber(take(1))
  local shared = {}
  for _ = 1, writes do
    local command, key, count = take(3)
    if command == '' then
      shared = {take(tonumber(count))}
    elseif count == 'shared' then
      local arguments = {take(tonumber(take(1)))}
      for _, argument in ipairs(shared) do arguments[#arguments + 1] = argument end
      redis.call(command, run .. key, unpack(arguments))
    elseif count == 'numbers' then
      local arguments = {}
      for argument in take(1):gmatch('%S+') do arguments[#arguments + 1] = argument end
      redis.call(command, run .. key, unpack(arguments))
    else
      redis.call(command, run .. key, take(tonumber(count)))
    end
  end

  redis.call('RPUSH', run .. 'journal', line)
  redis.call('HSET', run .. 'state', 'tick', number, 'digest', digest, 'chain', chain)
  return tick
end

local stop = fence(run, epoch, holder, seq, step)
if stop then return stop end
local at = tonumber(redis.call('HGET', run .. 'state', 'tick'))
local tick = tonumber(ARGV[8])
if at ~= tick - 1 then return {'fenced', epoch, tostring(at)} end
for _ = 1, tonumber(ticks) do tick = commit() end
return {'ok', rows_due(run, string.format('%d', tick + 1), mode), deleted, asked(run), timed(run), shown(run)}

-- Prelude of the steps that return due jobs and operators' requests to a host.
--   <run>controls    list  JSON requests of operators that no host has applied yet, the oldest first
--   <run>due:<tick>  set   keys of jobs due at that tick
--   <run>staged      set   keys of jobs whose result is staged
--   <run>job:<key>   hash  an open job; at: tick before which the host does not want its result
--   <run>timed       list  arrival times of answers, as settle.lua notes them, the oldest first

-- {key, state, result JSON or '', claims, arrival, class of the last attempt's failure or '', cell whose retry pool had no
-- room for another or '', …} of the jobs due at `tick`, and in mode 'ready' of all staged ones.
local function rows_due(run, tick, mode)
  local rows = {}
  local function add(key)
    local state, result, claims, arrival, failure, empty =
      unpack(redis.call('HMGET', run .. 'job:' .. key, 'state', 'result', 'claims', 'arrival', 'failure', 'empty'))
    local row = {key, state or '', result or '', claims or '0', arrival or '0', failure or '', empty or ''}
    for _, value in ipairs(row) do rows[#rows + 1] = value end
  end
  for _, key in ipairs(redis.call('SMEMBERS', run .. 'due:' .. tick)) do add(key) end
  if mode == 'ready' then
    for _, key in ipairs(redis.call('SMEMBERS', run .. 'staged')) do
      local wanted = tonumber(redis.call('HGET', run .. 'job:' .. key, 'at') or 0) <= tonumber(tick)
      if wanted and redis.call('SISMEMBER', run .. 'due:' .. tick, key) == 0 then add(key) end
    end
  end
  return rows
end

-- The notes on answers. Only a host removes them, with the tick that learns from them.
local function timed(run) return redis.call('LRANGE', run .. 'timed', 0, 499) end

-- Operators' oldest requests. Only a host removes them, with the tick that applies them.
local function asked(run) return redis.call('LRANGE', run .. 'controls', 0, 99) end

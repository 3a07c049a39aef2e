-- Prelude of every step that moves budget. Keys, all under the run's prefix:
--   <run>window:<window>  hash  "<scope>|<unit>|<account>" -> integer; accounts: reserved, spent, overrun, pool
--   <run>open             hash  enqueue tick -> open jobs and unsettled attempts that name its windows
--   <run>attempts         hash  token -> JSON record of an attempt whose usage has not arrived
--                                batched: 1 while a batch holds its request, whatever becomes of the worker
--   <run>lost             hash  token -> the same for a lost attempt, which counts in full until its usage arrives
--   <run>alone            hash  worker -> token of the attempt that it runs alone, see claim.lua
--   <run>job:<key>        hash  an open job; attempts: their tokens, each between spaces; losses: those whose worker was
--                                lost; empty: the cell whose retry pool had no room for another
--   <run>state            hash  settings: JSON of the settings that the run keeps
--   <run>unclaimed        set   keys of open jobs without a running attempt
--   <run>waiting          hash  due tick -> admitted jobs whose result is still out
--   <run>ready:<due>      list  one element once every result due at that tick has arrived
--
-- The job's own reservation pays for its latest attempt. The retry pool of its windows pays for every earlier one: for
-- its usage, or for its whole reservation while the usage is unknown. So reserved + spent <= (what admission gave out)
-- + (pool), whatever crashes.

local UNITS = {'calls', 'tokens', 'usd_micros'}

-- Adds amounts {calls, tokens, usd_micros} to an account of each cell; cells = {window, scope, window, scope, …}.
-- A window that is gone stays gone.
local function book(run, cells, account, amounts)
  for c = 1, #cells, 2 do
    local window = run .. 'window:' .. cells[c]
    if redis.call('EXISTS', window) == 1 then
      for u = 1, 3 do
        if amounts[u] ~= 0 then
          redis.call('HINCRBY', window, cells[c + 1] .. '|' .. UNITS[u] .. '|' .. account, string.format('%d', amounts[u]))
        end
      end
    end
  end
end

local function negative(amounts) return {-amounts[1], -amounts[2], -amounts[3]} end

local function minus(a, b) return {a[1] - b[1], a[2] - b[2], a[3] - b[3]} end

local function above(a, b)
  return {math.max(0, a[1] - b[1]), math.max(0, a[2] - b[2]), math.max(0, a[3] - b[3])}
end

-- Count one job or attempt less that names the windows of this enqueue tick.
local function release_window(run, tick)
  if redis.call('HINCRBY', run .. 'open', tick, -1) <= 0 then redis.call('HDEL', run .. 'open', tick) end
end

-- Count one missing result less for this due tick; the last one wakes the host.
local function arrived(run, due)
  if redis.call('HEXISTS', run .. 'waiting', due) == 1 and redis.call('HINCRBY', run .. 'waiting', due, -1) <= 0 then
    redis.call('HDEL', run .. 'waiting', due)
    redis.call('LPUSH', run .. 'ready:' .. due, '1')
  end
end

-- Give a job up: its heuristic applies at its due tick.
local function give_up(run, key, job)
  redis.call('HSET', job, 'state', 'dead', 'token', '')
  redis.call('SREM', run .. 'unclaimed', key)
  arrived(run, redis.call('HGET', job, 'due'))
end

-- Return how many claims of one job the run allows, by its own stored setting.
local function claim_cap(run) return cjson.decode(redis.call('HGET', run .. 'state', 'settings')).claim_cap end

-- Free the worker of an ended attempt for other jobs if it ran this job alone.
local function leaves_worker(run, token, attempt)
  if redis.call('HGET', run .. 'alone', attempt.worker) == token then redis.call('HDEL', run .. 'alone', attempt.worker) end
end

-- Give an attempt up: it counts in full until its usage arrives. Return its record.
local function abandon(run, token, raw)
  local attempt = cjson.decode(raw)
  redis.call('HDEL', run .. 'attempts', token)
  redis.call('HSET', run .. 'lost', token, raw)
  book(run, attempt.cells, 'reserved', negative(attempt.reserved))
  book(run, attempt.cells, 'spent', attempt.reserved)
  release_window(run, attempt.tick)
  leaves_worker(run, token, attempt)
  return attempt
end

-- End a job's running attempt without a result: the job may be claimed again, unless it has reached the cap on claims.
local function free_or_give_up(run, key, job)
  if tonumber(redis.call('HGET', job, 'claims')) >= claim_cap(run) then
    give_up(run, key, job)
  else
    redis.call('HSET', job, 'token', '')
    redis.call('SADD', run .. 'unclaimed', key)
  end
end

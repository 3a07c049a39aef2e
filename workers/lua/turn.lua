-- Takes hints from a worker's queues, from the runs in turn. Returns {queue, hint, queue, hint, …}; empty if no hint
-- waits. The caller has drawn one ticket, or none (then the script takes one hint with a ticket of any queue); each
-- further hint takes another ticket.
--   KEYS[1]  the tickets of the queue that the drawn ticket came from. The key of a queue's tickets prefixes two kinds
--            of keys: ":runs", the waiting runs, scored by a lower bound of their turn, and ":of:<share>/<run>", a
--            run's hints. All queues share ".turns<lane>:runs", each run's next turn if it lies in the future, and
--            ".turns<lane>:turn", the present turn.
-- ARGV  1 the most hints to take; 0 for one hint without a drawn ticket  2 the lane, which ends a key of tickets
--       3 seconds to keep the turns  4 the queue of KEYS[1]  5… the worker's other queues
--
-- This is start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the run with the lowest turn is next, and a
-- job advances its run's turn by the inverse of the run's share, whatever the job's kind.
local most, lane, kept = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local prefix = KEYS[1]:sub(1, #KEYS[1] - #ARGV[4] - #lane)
local turns, clock = prefix .. '.turns' .. lane .. ':runs', prefix .. '.turns' .. lane .. ':turn'
local present = tonumber(redis.call('GET', clock) or '0')
local queues, heads = {}, {}  -- a head is {run, turn}, or false for a queue without hints
for q = 4, #ARGV do queues[#queues + 1] = prefix .. ARGV[q] .. lane end

local function exactly(number) return string.format('%.17g', number) end

local function head_of(queue)
  while true do
    local run, known = unpack(redis.call('ZRANGE', queue .. ':runs', 0, 0, 'WITHSCORES'))
    if not run then return false end
    local turn = tonumber(redis.call('ZSCORE', turns, run) or '0')
    if redis.call('LLEN', queue .. ':of:' .. run) == 0 then
      redis.call('ZREM', queue .. ':runs', run)
    elseif turn > tonumber(known) then  -- jobs of other kinds have advanced it
      redis.call('ZADD', queue .. ':runs', exactly(turn), run)
    else
      return {run, turn}
    end
  end
end

-- Returns the queue of the next run. A run that joins starts at the present turn, without a claim to earlier ones.
local function next_queue()
  local found, least
  for q, queue in ipairs(queues) do
    if heads[q] == nil then heads[q] = head_of(queue) end
    local turn = heads[q] and math.max(heads[q][2], present)
    if turn and (not found or turn < least) then found, least = q, turn end
  end
  return found
end

local function take(q)
  local run, turn = heads[q][1], math.max(heads[q][2], present)
  local following = turn + 1 / tonumber(run:match('^(%d+)/'))
  present = turn
  redis.call('ZREMRANGEBYSCORE', turns, '-inf', exactly(present))
  redis.call('ZADD', turns, exactly(following), run)
  redis.call('ZADD', queues[q] .. ':runs', exactly(following), run)
  for other in ipairs(queues) do
    if heads[other] and heads[other][1] == run then heads[other] = nil end
  end
  return redis.call('RPOP', queues[q] .. ':of:' .. run)
end

local drawn = 1  -- the queue of the ticket
if most == 0 then
  most = 1
  while drawn <= #queues and not redis.call('RPOP', queues[drawn]) do drawn = drawn + 1 end
  if drawn > #queues then return {} end
end

local hints = {}
local q = next_queue()
if q and q ~= drawn then  -- exchange the drawn ticket for one of the queue that the script serves instead
  local ticket = redis.call('RPOP', queues[q])
  if ticket then redis.call('RPUSH', queues[drawn], ticket) end
end
while q do
  hints[#hints + 1] = ARGV[3 + q]
  hints[#hints + 1] = take(q)
  q = next_queue()
  if #hints >= 2 * most or not q or not redis.call('RPOP', queues[q]) then break end
end
-- A worker that died between a ticket and its hint leaves one hint without a ticket.
if hints[1] and heads[drawn] and redis.call('LLEN', queues[drawn]) == 0 then
  hints[#hints + 1] = ARGV[3 + drawn]
  hints[#hints + 1] = take(drawn)
end
if not next_queue() then  -- no run waits, so the next ones start as equals
  present = tonumber(redis.call('ZRANGE', turns, -1, -1, 'WITHSCORES')[2] or present)
  redis.call('ZREMRANGEBYSCORE', turns, '-inf', exactly(present))
end
redis.call('SET', clock, exactly(present), 'EX', kept)
redis.call('EXPIRE', turns, kept)
return hints

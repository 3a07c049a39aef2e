-- A call asks for admission to an endpoint: past its breaker, at the pace of its limits, and into a free slot.
--   KEYS[1]  cogitate:endpoint:{<name>}:gate      hash  times in microseconds of Redis's clock
--     state ('open', else closed), why, probe_at, lasting (1: only a change of settings removes the cause)
--     probe, probe_until               the token of the one call that probes an open breaker, and when the probe expires
--     missing:<model>                  when the next call may try a model that the endpoint did not know
--     hold                             when the pause that the endpoint asked for ends
--     usual                            how long a call usually takes
--     poll                             when the last call waiting for a slot asks again
--     <clock>.next, .drift, .free      of the clocks `requests` and `tokens`, see below
--   KEYS[2]  cogitate:endpoint:{<name>}:slots     zset  token of a call in flight, scored by when its slot is free again
--   KEYS[3]  cogitate:endpoint:{<name>}:counters  hash
-- ARGV  1 token  2 patience: until the call's deadline  3 pace: between two requests, 0 for no limit
--       4 what the call's tokens take, 0 for no limit  5 cap on calls in flight, 0 for none
--       6 7 places in the queues for requests and tokens, '' for none  8 waited so far, 0 at the first request
--       9 '1' at the first call of a process  10 model  11 pause before a missing model is tried again
--       12 how far a request may run ahead of the pace, to make up for one that left late
-- Answers {'go', when, delay, '1' if it tries a missing model, '1' if it tries an open endpoint} | {'wait', time, place, place}
--      |  {'late', time, 'requests' or 'slot'} | {'open', time until the next probe, why}.
--
-- Limits are enforced by the generic cell rate algorithm in its virtual-scheduling form (ITU-T I.371, annex A; ATM Forum
-- TM 4.0, 4.4.2). Idle time earns no credit, since a server may enforce its limit over any period. A call that has to
-- wait takes a `place`: the next arrival time in a queue shared by all waiting calls. `drift` is how late (a thread woke
-- late) or early (a call used fewer tokens than it took) the queue is: a place is due at place + drift. `free` is when
-- the latest call sent has paid for itself, regardless of the queue.

local EARLY = 5000  -- a call that is early by less is admitted, and leaves at its time
local gate, slots, counters = unpack(KEYS)
local token, patience, pace, tokens, cap, request_place, token_place, waited, first, model, pause, ahead = unpack(ARGV)
patience, cap = tonumber(patience), tonumber(cap)
local fresh = first == '1'
local seconds, microseconds = unpack(redis.call('TIME'))
local now = seconds * 1000000 + microseconds
local missing = 'missing:' .. model

local state, why, probe_at, lasting, probe, probe_until, missing_until, hold, usual =
  unpack(redis.call('HMGET', gate, 'state', 'why', 'probe_at', 'lasting', 'probe', 'probe_until', missing, 'hold', 'usual'))
local function number(text) return tonumber(text or 0) or 0 end

local function refuse(answer, count)
  redis.call('HINCRBY', counters, 'refused:' .. count, 1)
  return answer
end

local probing = state == 'open'
if probing then
  local left = number(probe_at) - now
  if probe and probe ~= '' and now < number(probe_until) then
    return refuse({'open', math.max(0, left), why}, 'breaker_open')
  end
  if left > 0 and not (fresh and lasting == '1') then return refuse({'open', left, why}, 'breaker_open') end
end
local retrying = missing_until ~= false
if retrying and now < number(missing_until) and not fresh then
  return refuse({'open', number(missing_until) - now, 'model_missing'}, 'breaker_open')
end

local clocks = {
  {name = 'requests', cost = tonumber(pace), ahead = tonumber(ahead), place = tonumber(request_place)},
  {name = 'tokens', cost = tonumber(tokens), ahead = 0, place = tonumber(token_place)},
}
local due = math.max(now, number(hold))
for _, clock in ipairs(clocks) do
  if clock.cost > 0 then
    local next_arrival, drift, free =
      unpack(redis.call('HMGET', gate, clock.name .. '.next', clock.name .. '.drift', clock.name .. '.free'))
    clock.drift = number(drift)
    clock.due = clock.place and clock.place + clock.drift or math.max(now, number(next_arrival) + clock.drift)
    due = math.max(due, clock.due, number(free))
  end
end

local wait, waits_for = due - now, 'requests'
if wait <= EARLY and cap > 0 then
  redis.call('ZREMRANGEBYSCORE', slots, '-inf', now)
  if redis.call('ZCARD', slots) >= cap then
    -- Waiting calls retry one after the other, four for each call that ends.
    local poll = math.max(now, tonumber(redis.call('HGET', gate, 'poll') or 0))
    poll = poll + math.max(500, (usual and number(usual) or 100000) / (4 * cap))
    redis.call('HSET', gate, 'poll', poll)
    wait, waits_for = poll - now, 'slot'
  end
end

if wait > EARLY or waits_for == 'slot' then
  if probing then return refuse({'open', wait, why}, 'breaker_open') end
  if wait + 2 * number(usual) > patience then
    return refuse({'late', wait, waits_for}, waits_for == 'slot' and 'no_slot' or 'rate_limited_here')
  end
  if waited == '0' then redis.call('HINCRBY', counters, 'waits', 1) end
  local places = {requests = request_place, tokens = token_place}
  for _, clock in ipairs(clocks) do
    if clock.cost > 0 and not clock.place and waits_for == 'requests' then
      clock.place = clock.due - clock.drift
      redis.call('HSET', gate, clock.name .. '.next', clock.place + clock.cost)
      places[clock.name] = string.format('%.0f', clock.place)
    end
  end
  return {'wait', math.ceil(wait), places.requests, places.tokens}
end

for _, clock in ipairs(clocks) do
  if clock.cost > 0 then
    if clock.place then
      redis.call('HSET', gate, clock.name .. '.drift', math.max(clock.drift, due - clock.place - clock.ahead))
    else
      redis.call('HSET', gate, clock.name .. '.next', due - clock.drift + clock.cost)
    end
    redis.call('HSET', gate, clock.name .. '.free', due + clock.cost - clock.ahead)
  end
end
if cap > 0 then redis.call('ZADD', slots, now + patience + 1000000, token) end
if probing then redis.call('HSET', gate, 'probe', token, 'probe_until', now + patience + 1000000) end
if retrying then redis.call('HSET', gate, missing, now + tonumber(pause)) end
if waited ~= '0' then redis.call('HINCRBY', counters, 'waited_ms', math.floor(waited / 1000)) end
return {'go', due, math.ceil(math.max(0, due - now)), retrying and '1' or '0', probing and '1' or '0'}

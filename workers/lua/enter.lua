-- Admits a call to an endpoint: past its breaker, at the pace of its limits, and into a free slot.
--   KEYS[1]  cogitate:endpoint:{<name>}:gate      hash  times in microseconds of Redis's clock
--     state ('open', else closed), why, probe_at, lasting (1: opened by refusals, which a change of settings may end)
--     probe, probe_until               the token of the one call that probes an open breaker, and when the probe expires
--     aside:<model>                    'until why number since': a model that is set aside, see leave.lua
--     tried:<model>, trying:<model>    when the trial of a model set aside expires, and the token of the call
--     answered:<model>                 '1' once the model has answered
--     hold, hold:<model>               when the pause that the endpoint asked for ends
--     room:<model>, pace:<model>       learned limits: calls in flight, and time between two; absent: none known
--     next:<model>                     when the next call may leave by that pace
--     usual                            usual duration of a call
--     poll, poll:<model>               when the last call waiting for a slot asks again
--     <clock>.next, .drift, .free      of the clocks `requests` and `tokens`, see below
--   KEYS[2]  cogitate:endpoint:{<name>}:slots     zset  token of a call in flight, scored by when its slot is free again
--   KEYS[3]  cogitate:endpoint:{<name>}:counters  hash
-- ARGV  1 token  2 patience: until the call's deadline  3 pace: between two requests, 0 for no limit
--       4 time that the call's tokens take, 0 for no limit  5 cap on calls in flight, 0 for none
--       6 7 places in the queues for requests and tokens, '' for none  8 waited so far, 0 at the first request
--       9 '1' at the first call of a process  10 model
--       11 how far a request may run ahead of the pace, to make up for one that left late
--       12 '1' if the call may wait for the probe of an endpoint that has answered before, '2' for that of a model too
--       13 '1' if an attempt of the job has failed before
--       14 '1' if it asks in a slow service tier: such a call does not probe
--       15 the endpoint's address, at the first calls of a process: see server.lua
--   KEYS[2]:<model> holds the slots of a model with learned limits; for the further keys see callers.lua and server.lua.
-- Answers {'go', when, delay, '1' if it tries a model set aside, '1' if it tries an open endpoint,
--          '1' if limits are learned for the model} | {'wait', time, place, place}
--      |  {'late', time, 'requests', 'slot' or 'time', '1' if only this model's limits prevent the call}
--      |  {'open', time until the next probe, why}
--      |  {'aside', time until the next try, why}: only this model is set aside.
--
-- The generic cell rate algorithm in its virtual-scheduling form enforces the limits (ITU-T I.371, annex A; ATM Forum
-- TM 4.0, 4.4.2). Idle time earns no credit, since a server may enforce its limit over any period. A call that has to
-- wait takes a `place`: the next arrival time in a queue that all waiting calls share. `drift` is how late (a thread
-- woke late) or early (a call used fewer tokens than it reserved) the queue is: a place is due at place + drift. `free`
-- is when the latest call sent has used up its share of the rate, regardless of the queue.

local EARLY = 5000  -- microseconds; a call that is early by less is admitted, and leaves on time
local gate, slots, counters = unpack(KEYS)
local token, patience, pace, tokens, cap, request_place, token_place, waited, first, model, ahead, may_wait, again,
  slow, server = unpack(ARGV)
patience, cap = tonumber(patience), tonumber(cap)
local fresh = first == '1'
local seconds, microseconds = unpack(redis.call('TIME'))
local now = seconds * 1000000 + microseconds
local caller = caller_of(token)
free_missed(caller, now)
meet_server(server, now)
local aside = 'aside:' .. model
local lane_slots = slots .. ':' .. model

local state, why, probe_at, lasting, probe, probe_until, set_aside, tried, answered, hold, usual, held, room, learned_pace,
  next_call = unpack(redis.call('HMGET', gate, 'state', 'why', 'probe_at', 'lasting', 'probe', 'probe_until', aside,
    'tried:' .. model, 'answered:' .. model, 'hold', 'usual', 'hold:' .. model, 'room:' .. model, 'pace:' .. model,
    'next:' .. model))
local function number(text) return tonumber(text or 0) or 0 end

local function refuse(answer, count)
  redis.call('HINCRBY', counters, 'refused:' .. count, 1)
  if request_place ~= '' or token_place ~= '' then free_call(token) end
  return answer
end

-- If its patience allows, a call waits for the probe of an endpoint or model that has answered before.
local function closed_until(what, instant, cause, known)
  local left = math.max(0, instant - now)
  if known and left + 2 * number(usual) < patience then
    return {'wait', math.max(left, 50000), request_place, token_place}
  end
  return refuse({what, left, cause}, 'breaker_open')
end

local probing, retrying = state == 'open', set_aside ~= false
local limited = cap > 0 or number(room) > 0 or tonumber(pace) > 0 or tonumber(tokens) > 0
if limited or probing or retrying then hear(caller, now) end
if probing and slow == '1' then return {'open', math.max(0, number(probe_at) - now), why} end
if probing then
  local known = may_wait ~= '0' and usual
  if probe and probe ~= '' and now < number(probe_until) then return closed_until('open', number(probe_at), why, known) end
  if number(probe_at) > now and not (fresh and lasting == '1') then return closed_until('open', number(probe_at), why, known) end
end
if retrying then
  local aside_until, cause = string.match(set_aside, '(%S+) (%S+)')
  if (now < number(aside_until) or now < number(tried)) and not fresh then
    return closed_until('aside', number(aside_until), cause, may_wait == '2' and answered)
  end
end

local clocks = {
  {name = 'requests', cost = tonumber(pace), ahead = tonumber(ahead), place = tonumber(request_place)},
  {name = 'tokens', cost = tonumber(tokens), ahead = 0, place = tonumber(token_place)},
}
room, learned_pace = number(room), number(learned_pace)
local of_all = math.max(now, number(hold))  -- when a call of another model may leave
local due = math.max(of_all, number(held), learned_pace > 0 and number(next_call) or 0)
local paced = learned_pace > 0 and due > now
for _, clock in ipairs(clocks) do
  if clock.cost > 0 then
    local next_arrival, drift, free =
      unpack(redis.call('HMGET', gate, clock.name .. '.next', clock.name .. '.drift', clock.name .. '.free'))
    clock.drift = number(drift)
    clock.due = clock.place and clock.place + clock.drift or math.max(now, number(next_arrival) + clock.drift)
    of_all = math.max(of_all, clock.due, number(free))
    due = math.max(due, of_all)
  end
end

-- Waiting calls ask again one after the other, four for each call that may leave.
local function turn(name, apart)
  local poll = math.max(now, number(redis.call('HGET', gate, name))) + math.max(500, apart / 4)
  redis.call('HSET', gate, name, poll)
  return poll - now
end

local wait, waits_for, slot_of_all = due - now, 'requests', false
if wait <= EARLY then
  if cap > 0 then
    redis.call('ZREMRANGEBYSCORE', slots, '-inf', now)
    if redis.call('ZCARD', slots) >= cap then
      wait, waits_for, slot_of_all = turn('poll', (usual and number(usual) or 100000) / cap), 'slot', true
    end
  end
  if room > 0 and waits_for ~= 'slot' then
    redis.call('ZREMRANGEBYSCORE', lane_slots, '-inf', now)
    if redis.call('ZCARD', lane_slots) >= math.floor(room) then
      wait, waits_for = turn('poll:' .. model, (usual and number(usual) or 100000) / room), 'slot'
    end
  end
end

if wait > EARLY or waits_for == 'slot' then
  if probing then return refuse({'open', wait, why}, 'breaker_open') end
  if wait + 2 * number(usual) > patience then
    local of_model = not slot_of_all and of_all - now + 2 * number(usual) <= patience
    return refuse({'late', wait, waits_for, of_model and '1' or '0'},
      waits_for == 'slot' and 'no_slot' or 'rate_limited_here')
  end
  if waited == '0' then redis.call('HINCRBY', counters, 'waits', 1) end
  if paced and waits_for ~= 'slot' then wait = math.max(wait, turn('poll:' .. model, learned_pace)) end
  local places = {requests = request_place, tokens = token_place}
  for _, clock in ipairs(clocks) do
    if clock.cost > 0 and not clock.place and waits_for == 'requests' then
      clock.place = clock.due - clock.drift
      redis.call('HSET', gate, clock.name .. '.next', clock.place + clock.cost)
      places[clock.name] = string.format('%.0f', clock.place)
    end
  end
  if caller and (places.requests ~= '' or places.tokens ~= '') then
    redis.call('HSET', KEYS[6], token, table.concat({places.requests ~= '' and pace or '0',
      places.tokens ~= '' and tokens or '0', model}, ' '))
  end
  return {'wait', math.ceil(wait), places.requests, places.tokens}
end

-- A further attempt that would most likely be cut off in the middle costs money for nothing.
if again == '1' and number(usual) > patience then return refuse({'late', 0, 'time', '0'}, 'no_time') end

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
if room > 0 then
  redis.call('ZADD', lane_slots, now + patience + 1000000, token)
  redis.call('PEXPIRE', lane_slots, math.ceil(patience / 1000) + 60000)
end
if learned_pace > 0 then redis.call('HSET', gate, 'next:' .. model, due + learned_pace) end
if probing then redis.call('HSET', gate, 'probe', token, 'probe_until', now + patience + 1000000) end
if retrying then redis.call('HSET', gate, 'tried:' .. model, now + patience + 1000000, 'trying:' .. model, token) end
if caller and (cap > 0 or room > 0 or probing or retrying) then
  redis.call('HSET', KEYS[6], token, '0 0 ' .. model)
elseif request_place ~= '' or token_place ~= '' then
  redis.call('HDEL', KEYS[6], token)
end
if waited ~= '0' then redis.call('HINCRBY', counters, 'waited_ms', math.floor(waited / 1000)) end
return {'go', due, math.ceil(math.max(0, due - now)), retrying and '1' or '0', probing and '1' or '0',
  room > 0 and '1' or '0'}

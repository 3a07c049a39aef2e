-- Records the end of calls: frees slots, corrects clocks, counts failures, and opens or closes the breaker.
--   KEYS  as in enter.lua; further fields of the gate:
--     since                         when the breaker opened or closed
--     streak                        consecutive failures of the endpoint
--     latest                        one character for each of the latest calls: 1 failed, 0 did not
--     openings                      times that the breaker opened since it was last closed
--     streak:<model>                consecutive failures of a model
--     refused:<model>               when it first refused a prompt since its last answer, and ' <digest>' of each
--     aside:<model>                 'until why number since': it is set aside; then one call tries it, and a failure
--                                   doubles the pause
--     tried:<model>, trying:<model>, answered:<model>  see enter.lua
--     refusing                      models set aside for refusals since the endpoint last answered
--     limiting                      "<time> <model>" of a 429 since the endpoint last answered, within longest_pause;
--                                   without the model once a second one was limited
--     room:<model>, pace:<model>    learned limits, see below
--     good:<model>                  the room, or calls per microsecond, up to which the limits grow fast
--     cut:<model>                   when the limits were last cut
--     cuts:<model>                  cuts since the model last answered
--     fastest                       the quickest answer so far
--     requests.slack                time that slow answers may still add to the pace
-- ARGV  1 token, '' for several calls at once  2 verdict: fine, silent, failing, limited, refused  3 failure, '' for none
--       4 calls  5 requests sent  6 tokens used  7 duration of a call  8 excess (or deficit) of the tokens' time
--       9 Retry-After, -1 for none  10 pace  11 '1' at the first call of a process  12 model  13 '1' if it tried a model set aside
--       14 failures in a row that open the breaker  15 share of failures that does  16 among how many calls
--       17 first pause  18 longest pause  19 how far a request may run ahead of the pace  20 estimated tokens among 6
--       21 reasoning tokens among 6  22 durations of the answered calls, comma-separated  23 digest of the prompt
--       24 when the call left  25 '1' if it asked in a slow service tier
--       26 service tiers that answered, "flex=2,default=1"  27 micro-dollars that they saved
--   KEYS[4]  cogitate:endpoint:{<name>}:times  list of the latest durations
--   KEYS[5]  cogitate:endpoint:{<name>}:changes  list of the latest changes: '<time> opened <failure>' | '<time> closed'
--                                 | '<time> set_aside <failure> <model>' | '<time> asked_again <model>'
-- Answers {''} | {'opened', why, pause} | {'aside', why, pause, '1' if it is the first time} | {'closed', time open}
--      |  {'limited'}: a second model met a limit with no answer in between, so the limit is the account's.
--
-- A refusal counts as the prompt's fault until the model has refused DIFFERENT prompts and answered none for the time
-- that answers take; then the script sets the model aside. If it sets another model aside too, and none has answered
-- since, the breaker opens. Failures in a row of one model among successes of others set that model aside; otherwise
-- they open the breaker.
--
-- Additive increase and multiplicative decrease (Chiu and Jain, 1989) learns limits that are not configured: a limited
-- call cuts the calls in flight to three quarters, then to half; at one call a 429 cuts the pace, and a 503 doubles the
-- pause before the next. Answers let the limits grow, fast up to what worked before. Calls that left before a cut are
-- no further evidence.

local gate, slots, counters = unpack(KEYS)
local token, verdict, failure, calls, requests, tokens, took, excess, retry_after, pace = unpack(ARGV, 1, 10)
local fresh, model, tried_aside, most_in_row, share, most_latest, first_pause, longest_pause, ahead, estimated, reasoning =
  unpack(ARGV, 11, 21)
local prompt, left = ARGV[23], tonumber(ARGV[24])
calls, took, pace, longest_pause = tonumber(calls), tonumber(took), tonumber(pace), tonumber(longest_pause)
local seconds, microseconds = unpack(redis.call('TIME'))
local now = seconds * 1000000 + microseconds
local function of_model(name) return name .. ':' .. model end

local DIFFERENT = 3
local UNKNOWN = 5000000  -- microseconds for an answer if none has come yet
local state, since, probe, in_row, latest, openings_before, usual, fastest, known_why, refusing, model_streak, set_aside,
  room, cut, refused, answered, limiting, trying = unpack(redis.call('HMGET', gate, 'state', 'since', 'probe', 'streak', 'latest', 'openings',
    'usual', 'fastest', 'why', 'refusing', of_model('streak'), of_model('aside'), of_model('room'), of_model('cut'),
    of_model('refused'), of_model('answered'), 'limiting', of_model('trying')))
room = tonumber(room)
local answer, both_limited = {''}, false
local most_times, most_changes = 200, 100

redis.call('HINCRBY', counters, 'calls', calls)
redis.call('HINCRBY', counters, 'requests', requests)
redis.call('HINCRBY', counters, 'tokens', tokens)
if estimated ~= '0' then redis.call('HINCRBY', counters, 'estimated', estimated) end
if reasoning ~= '0' then redis.call('HINCRBY', counters, 'reasoning', reasoning) end
if failure ~= '' then redis.call('HINCRBY', counters, 'failures:' .. failure, calls) end
if token ~= '' then
  redis.call('ZREM', slots, token)
  redis.call('HDEL', KEYS[6], token)
end
local in_flight = 1
if room and token ~= '' then
  in_flight = redis.call('ZCARD', slots .. ':' .. model)
  redis.call('ZREM', slots .. ':' .. model, token)
end
for tier, count in string.gmatch(ARGV[26] or '', '([%l_]+)=(%d+)') do
  redis.call('HINCRBY', counters, 'tier:' .. tier, count)
end
if (ARGV[27] or '0') ~= '0' then redis.call('HINCRBY', counters, 'discount', ARGV[27]) end
if ARGV[22] and ARGV[22] ~= '' then
  for one in string.gmatch(ARGV[22], '%d+') do redis.call('RPUSH', KEYS[4], one) end
  redis.call('LTRIM', KEYS[4], -most_times, -1)
end

if tonumber(excess) ~= 0 then
  redis.call('HINCRBYFLOAT', gate, 'tokens.drift', -excess)
  redis.call('HINCRBYFLOAT', gate, 'tokens.free', -excess)
end

usual = tonumber(usual)
if verdict == 'fine' and failure == '' and ARGV[25] ~= '1' then
  -- Smoothed like round-trip times (RFC 6298, 2.3).
  redis.call('HSET', gate, 'usual', usual and usual + (took - usual) / 8 or took)
  fastest = math.min(took, tonumber(fastest or took))
  redis.call('HSET', gate, 'fastest', fastest)
  if not answered then redis.call('HSET', gate, of_model('answered'), 1) end
  if pace > 0 and token ~= '' then
    -- A request with a slow answer may have left late or been counted late, so the next must not follow too closely. A
    -- slow model looks the same, so this costs at most 2% of the rate. The first call of a process is certainly late,
    -- since it opens a connection.
    local first = fresh == '1'
    local slack = tonumber(redis.call('HGET', gate, 'requests.slack') or pace / 2)
    local late = math.max(0, took - (first and 0 or fastest) - ahead)
    local extra = math.min(late, first and pace or slack)
    redis.call('HSET', gate, 'requests.slack', math.max(0, math.min(pace, slack - extra + pace / 50)))
    redis.call('HINCRBYFLOAT', gate, 'requests.free', extra)
    redis.call('HINCRBYFLOAT', gate, 'requests.drift', extra)
  end
elseif failure == 'timeout' and usual and took < 2 * usual then
  verdict = 'silent'  -- the call had too little time to be evidence about the endpoint
end

if tonumber(retry_after) >= 0 then
  local name = failure == 'rate_limited' and of_model('hold') or 'hold'
  redis.call('HSET', gate, name, math.max(tonumber(redis.call('HGET', gate, name) or 0), now + retry_after))
end

local function learn_limit()
  local pace_of, good, cuts = unpack(redis.call('HMGET', gate, of_model('pace'), of_model('good'), of_model('cuts')))
  local learned, cut_before = tonumber(pace_of) or 0, tonumber(cuts or 0)
  local again = cut_before > 0
  if verdict == 'limited' then
    local pause = math.min(usual or 250000, 1000000)
    if not room then
      room = 2
    elseif math.min(room, in_flight) >= 2 then
      room = math.max(1, math.floor(math.min(room, in_flight) * (again and 0.5 or 0.75)))
      if not again then good = room end
    elseif failure == 'overloaded' then  -- no rate helps: try again after growing pauses
      room, pause = 1, math.min(pause * 2 ^ math.min(cut_before, 30), longest_pause)
    else
      if learned > 0 and not again then good = 1 / learned end
      learned = math.min(learned > 0 and learned * (again and 2 or 1.25) or pause, longest_pause)
      room, pause = 1, learned
    end
    redis.call('HINCRBY', gate, of_model('cuts'), 1)
    redis.call('HSET', gate, of_model('cut'), now, of_model('hold'), now + pause, of_model('next'), now + pause)
  elseif learned > 0 then
    local rate = 1 / learned
    good = tonumber(good)
    if not good or good >= 1 then good = 2 * rate end  -- 1 or more is a room, learned before the pace
    rate = rate < good / 2 and rate * 2 or rate + good / 32
    learned = 1 / rate
    if usual and learned < usual / 2 then learned = 0 end  -- it no longer limits anything
    if learned == 0 then good = nil end
    redis.call('HSET', gate, of_model('cuts'), 0)
  else
    good = tonumber(good)
    if in_flight >= math.floor(room) then
      room = room + ((not good or room < good) and 1 or 1 / (8 * room))
    end
    redis.call('HSET', gate, of_model('cuts'), 0)
  end
  redis.call('HSET', gate, of_model('room'), room, of_model('pace'), learned, of_model('good'), good or '')
end

local function note(...)
  redis.call('RPUSH', KEYS[5], table.concat({string.format('%.0f', now), ...}, ' '))
  redis.call('LTRIM', KEYS[5], -most_changes, -1)
end

local early = cut and left < tonumber(cut)  -- the call left before the limit was learned
if verdict == 'limited' and not early then
  learn_limit()
elseif verdict == 'limited' then
  verdict = 'silent'
elseif verdict == 'fine' and room and token ~= '' then
  learn_limit()
end

local function put_aside()
  local _, _, number, began = string.find(set_aside or '', '^%S+ %S+ (%S+) (%S+)$')
  number = tonumber(number or 0)
  local pause = math.ceil(math.min(first_pause * 2 ^ math.min(number, 30), longest_pause))
  redis.call('HSET', gate, of_model('aside'), string.format('%.0f %s %d %s', now + pause, failure, number + 1,
    began or string.format('%.0f', now)))
  redis.call('HINCRBY', counters, 'openings', 1)
  if number == 0 then note('set_aside', failure, model) end
  answer = {'aside', failure, pause, number == 0 and '1' or '0'}
  return number == 0
end

local function open(openings)
  local pause = math.min(first_pause * 2 ^ math.min(openings, 30), longest_pause)
  local why = failure ~= '' and failure or known_why
  redis.call('HSET', gate, 'state', 'open', 'why', why, 'probe', '', 'probe_at', now + pause,
    'openings', openings + 1, 'lasting', verdict == 'refused' and 1 or 0)
  if openings == 0 then
    redis.call('HSET', gate, 'since', now)
    note('opened', why)
  end
  redis.call('HINCRBY', counters, 'openings', 1)
  answer = {'opened', why, math.ceil(pause)}
end

if tried_aside == '1' and (not trying or trying == token) then  -- otherwise another call tries it now
  redis.call('HDEL', gate, of_model('tried'), of_model('trying'))
end
local bad = verdict == 'failing' or verdict == 'limited' or verdict == 'refused'
if verdict == 'fine' then
  if set_aside then note('asked_again', model) end
  if set_aside or refused or model_streak then
    redis.call('HDEL', gate, of_model('aside'), of_model('refused'), of_model('streak'))
  end
  if refusing or limiting then redis.call('HDEL', gate, 'refusing', 'limiting') end
elseif failure == 'rate_limited' then
  local at, other = string.match(limiting or '', '^(%d+) (.*)$')
  if not at or now - tonumber(at) > longest_pause then
    redis.call('HSET', gate, 'limiting', string.format('%.0f %s', now, model))
  else
    both_limited = other ~= model and other ~= ''
  end
end
if state == 'open' then
  if token ~= '' and probe == token then  -- the probe decides; calls from before the opening no longer count
    if failure == 'no_time' then
      redis.call('HSET', gate, 'probe', '')  -- it sent nothing: the next call probes
    elseif bad or (verdict == 'silent' and failure ~= 'rate_limited') then
      open(tonumber(openings_before))
    else
      redis.call('HSET', gate, 'state', '', 'since', now, 'why', '', 'probe', '', 'streak', 0, 'latest', '', 'openings', 0)
      note('closed')
      answer = {'closed', now - since}
    end
  end
elseif verdict == 'refused' then
  refused = refused or string.format('%.0f', now)
  local _, different = string.gsub(refused, ' ', '')
  if different < DIFFERENT and not string.find(refused, ' ' .. prompt, 1, true) then
    refused, different = refused .. ' ' .. prompt, different + 1
    redis.call('HSET', gate, of_model('refused'), refused)
  end
  -- Refusals arrive faster than answers: calls that left with the first of them must have had time for an answer.
  local waited = now - tonumber(string.match(refused, '^%d+')) >= (usual and 2 * usual or UNKNOWN)
  if tried_aside == '1' or (different >= DIFFERENT and waited and not set_aside) then
    if put_aside() and redis.call('HINCRBY', gate, 'refusing', 1) > 1 then open(0) end
  end
elseif verdict ~= 'silent' then
  local window = tonumber(most_latest)
  latest = string.sub((latest or '') .. string.rep(bad and '1' or '0', math.min(calls, window)), -window)
  local streak = bad and tonumber(in_row or 0) + calls or 0
  redis.call('HSET', gate, 'streak', streak, 'latest', latest)
  local own = bad and redis.call('HINCRBY', gate, of_model('streak'), calls) or 0
  local _, failures = string.gsub(latest, '1', '')
  if streak >= tonumber(most_in_row) or (bad and #latest >= window and failures >= share * window) then
    open(0)
  elseif bad and (tried_aside == '1' or (own >= tonumber(most_in_row) and not set_aside)) then
    put_aside()
  end
end
if both_limited and answer[1] == '' then
  redis.call('HSET', gate, 'limiting', string.format('%.0f ', now))
  answer = {'limited'}
end
return answer

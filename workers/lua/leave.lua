-- Calls report their end: the script frees slots, corrects clocks, counts failures, and opens or closes the breaker.
--   KEYS  as in enter.lua; further fields of the gate:
--     since                         when the breaker opened or closed
--     streak                        consecutive failures of the endpoint
--     latest                        one character for each of the latest calls: 1 failed, 0 did not
--     openings                      of the breaker, since it was last closed
--     fastest                       the quickest answer so far
--     requests.slack                time that slow answers may still add to the pace
-- ARGV  1 token, '' for several calls at once  2 verdict: fine, silent, failing, hopeless  3 failure, '' for none
--       4 calls  5 requests sent  6 tokens used  7 time that a call took  8 excess (or deficit) of the tokens' time
--       9 Retry-After, -1 for none  10 pace  11 '1' at the first call of a process  12 model  13 '1' if it tried a missing model
--       14 failures in a row that open  15 share of failures that opens  16 of how many calls  17 first pause
--       18 longest pause  19 how far a request may run ahead of the pace  20 of the tokens, estimated ones
--       21 of the tokens, reasoning  22 durations of the answered calls, comma-separated; may be missing
--   KEYS[4]  cogitate:endpoint:{<name>}:times  list of the latest such times
-- Answers {''} | {'opened', why, pause} | {'closed', time that it was open}.

local gate, slots, counters = unpack(KEYS)
local token, verdict, failure, calls, requests, tokens, took, excess, retry_after, pace = unpack(ARGV, 1, 10)
local fresh, model, tried_missing, most_in_row, share, most_latest, first_pause, longest_pause, ahead, estimated, reasoning =
  unpack(ARGV, 11, 21)
calls, took, pace, longest_pause = tonumber(calls), tonumber(took), tonumber(pace), tonumber(longest_pause)
local seconds, microseconds = unpack(redis.call('TIME'))
local now = seconds * 1000000 + microseconds
local missing = 'missing:' .. model

local state, since, probe, in_row, latest, openings_before, usual, fastest, known_why = unpack(redis.call(
  'HMGET', gate, 'state', 'since', 'probe', 'streak', 'latest', 'openings', 'usual', 'fastest', 'why'))
local answer = {''}
local most_times = 200

redis.call('HINCRBY', counters, 'calls', calls)
redis.call('HINCRBY', counters, 'requests', requests)
redis.call('HINCRBY', counters, 'tokens', tokens)
if estimated ~= '0' then redis.call('HINCRBY', counters, 'estimated', estimated) end
if reasoning ~= '0' then redis.call('HINCRBY', counters, 'reasoning', reasoning) end
if failure ~= '' then redis.call('HINCRBY', counters, 'failures:' .. failure, calls) end
if token ~= '' then redis.call('ZREM', slots, token) end
if ARGV[22] and ARGV[22] ~= '' then
  for one in string.gmatch(ARGV[22], '%d+') do redis.call('RPUSH', KEYS[4], one) end
  redis.call('LTRIM', KEYS[4], -most_times, -1)
end

if tonumber(excess) ~= 0 then
  redis.call('HINCRBYFLOAT', gate, 'tokens.drift', -excess)
  redis.call('HINCRBYFLOAT', gate, 'tokens.free', -excess)
end

usual = tonumber(usual)
if verdict == 'fine' and failure == '' then
  -- Smoothed like round-trip times (RFC 6298, 2.3).
  redis.call('HSET', gate, 'usual', usual and usual + (took - usual) / 8 or took)
  fastest = math.min(took, tonumber(fastest or took))
  redis.call('HSET', gate, 'fastest', fastest)
  if pace > 0 and token ~= '' then
    -- A request with a slow answer may have left or been counted late, and the next ones must not follow too closely.
    -- Since a slow model looks the same, this costs at most 2% of the rate; but the first call of a process is certainly
    -- late, since it opens a connection.
    local first = fresh == '1'
    local slack = tonumber(redis.call('HGET', gate, 'requests.slack') or pace / 2)
    local late = math.max(0, took - (first and 0 or fastest) - ahead)
    local extra = math.min(late, first and pace or slack)
    redis.call('HSET', gate, 'requests.slack', math.max(0, math.min(pace, slack - extra + pace / 50)))
    redis.call('HINCRBYFLOAT', gate, 'requests.free', extra)
    redis.call('HINCRBYFLOAT', gate, 'requests.drift', extra)
  end
elseif failure == 'timeout' and usual and took < 2 * usual then
  verdict = 'silent'  -- it had too little time to be evidence about the endpoint
end

if tonumber(retry_after) >= 0 then
  local hold = tonumber(redis.call('HGET', gate, 'hold') or 0)
  redis.call('HSET', gate, 'hold', math.max(hold, now + retry_after))
end

if failure == 'model_missing' then  -- affects one model; the endpoint's other models continue
  if redis.call('HSET', gate, missing, now + longest_pause) == 1 then
    redis.call('HINCRBY', counters, 'openings', 1)
    answer = {'opened', failure, longest_pause}
  end
elseif tried_missing == '1' and verdict == 'fine' then
  redis.call('HDEL', gate, missing)
end

local function open(openings)
  local pause = math.min(first_pause * 2 ^ math.min(openings, 30), longest_pause)
  if verdict == 'hopeless' then pause = longest_pause end
  local why = failure ~= '' and failure or known_why
  redis.call('HSET', gate, 'state', 'open', 'why', why, 'probe', '', 'probe_at', now + pause,
    'openings', openings + 1, 'lasting', verdict == 'hopeless' and 1 or 0)
  if openings == 0 then redis.call('HSET', gate, 'since', now) end
  redis.call('HINCRBY', counters, 'openings', 1)
  answer = {'opened', why, math.ceil(pause)}
end

local bad = verdict == 'failing' or verdict == 'hopeless'
if state == 'open' then
  if token ~= '' and probe == token then  -- the probe decides; calls from before the opening no longer count
    if bad or (verdict == 'silent' and failure ~= 'rate_limited') then
      open(tonumber(openings_before))
    else
      redis.call('HSET', gate, 'state', '', 'since', now, 'why', '', 'probe', '', 'streak', 0, 'latest', '', 'openings', 0)
      answer = {'closed', now - since}
    end
  end
elseif verdict ~= 'silent' then
  local window = tonumber(most_latest)
  latest = string.sub((latest or '') .. string.rep(bad and '1' or '0', math.min(calls, window)), -window)
  local streak = bad and tonumber(in_row or 0) + calls or 0
  redis.call('HSET', gate, 'streak', streak, 'latest', latest)
  local _, failures = string.gsub(latest, '1', '')
  if verdict == 'hopeless' or streak >= tonumber(most_in_row)
    or (bad and #latest >= window and failures >= share * window) then
    open(0)
  end
end
return answer

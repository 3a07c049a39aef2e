-- Calls report how they ended: slots are given back, clocks corrected, failures counted, the breaker opened or closed.
--   KEYS  as in enter.lua; further fields of the gate:
--     since                         when the breaker opened or closed
--     streak                        failures that speak of the endpoint, one after the other
--     latest                        one character for each of the latest calls: 1 such a failure, 0 none
--     openings                      of the breaker, since it was last closed
--     fastest                       the quickest answer so far
--     requests.slack                what may still be added to the pace for answers that were slow
-- ARGV  1 token, '' for several calls at once  2 verdict: fine, silent, failing, hopeless  3 failure, '' for none
--       4 calls  5 requests sent  6 tokens used  7 time that a call took  8 tokens' time taken too much (or too little)
--       9 Retry-After, -1 for none  10 pace  11 '1' at the first call of a process  12 model  13 '1' if it tried a missing model
--       14 failures in a row that open  15 share of failures that opens  16 of how many calls  17 first pause
--       18 longest pause  19 by how much a request may come ahead of the pace  20 of the tokens, what is an estimate
-- Answers {''} | {'opened', why, pause} | {'closed', time that it was open}.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local token, verdict, failure, model = ARGV[1], ARGV[2], ARGV[3], ARGV[12]
local calls, took, pace = tonumber(ARGV[4]), tonumber(ARGV[7]), tonumber(ARGV[10])
local gate = redis.call('HMGET', KEYS[1], 'state', 'since', 'probe', 'streak', 'latest', 'openings', 'usual', 'fastest',
  'why')
local answer = {''}

redis.call('HINCRBY', KEYS[3], 'calls', calls)
redis.call('HINCRBY', KEYS[3], 'requests', ARGV[5])
redis.call('HINCRBY', KEYS[3], 'tokens', ARGV[6])
if ARGV[20] ~= '0' then redis.call('HINCRBY', KEYS[3], 'estimated', ARGV[20]) end
if failure ~= '' then redis.call('HINCRBY', KEYS[3], 'failures:' .. failure, calls) end
if token ~= '' then redis.call('ZREM', KEYS[2], token) end

if tonumber(ARGV[8]) ~= 0 then
  redis.call('HINCRBYFLOAT', KEYS[1], 'tokens.drift', -ARGV[8])
  redis.call('HINCRBYFLOAT', KEYS[1], 'tokens.free', -ARGV[8])
end

local usual = tonumber(gate[7])
if verdict == 'fine' and failure == '' then
  -- Smoothed as round-trip times are (RFC 6298, 2.3).
  redis.call('HSET', KEYS[1], 'usual', usual and usual + (took - usual) / 8 or took)
  local fastest = math.min(took, tonumber(gate[8] or took))
  redis.call('HSET', KEYS[1], 'fastest', fastest)
  if pace > 0 and token ~= '' then
    -- A request whose answer was slow may have left or been counted late, and the next ones must not come too soon
    -- after it. As a slow model looks the same, this costs at most one part in fifty of the rate; but the first call of
    -- a process is late for certain, as it opens a connection.
    local first = ARGV[11] == '1'
    local slack = tonumber(redis.call('HGET', KEYS[1], 'requests.slack') or pace / 2)
    local late = math.max(0, took - (first and 0 or fastest) - ARGV[19])
    local extra = math.min(late, first and pace or slack)
    redis.call('HSET', KEYS[1], 'requests.slack', math.max(0, math.min(pace, slack - extra + pace / 50)))
    redis.call('HINCRBYFLOAT', KEYS[1], 'requests.free', extra)
    redis.call('HINCRBYFLOAT', KEYS[1], 'requests.drift', extra)
  end
elseif failure == 'timeout' and usual and took < 2 * usual then
  verdict = 'silent'  -- it was given too little time to say anything about the endpoint
end

if tonumber(ARGV[9]) >= 0 then
  local hold = tonumber(redis.call('HGET', KEYS[1], 'hold') or 0)
  redis.call('HSET', KEYS[1], 'hold', math.max(hold, now + ARGV[9]))
end

if failure == 'model_missing' then  -- the affair of one model; others of the endpoint go on
  if redis.call('HSET', KEYS[1], 'missing:' .. model, now + ARGV[18]) == 1 then
    redis.call('HINCRBY', KEYS[3], 'openings', 1)
    answer = {'opened', failure, tonumber(ARGV[18])}
  end
elseif ARGV[13] == '1' and verdict == 'fine' then
  redis.call('HDEL', KEYS[1], 'missing:' .. model)
end

local function open(openings)
  local pause = math.min(ARGV[17] * 2 ^ math.min(openings, 30), tonumber(ARGV[18]))
  if verdict == 'hopeless' then pause = tonumber(ARGV[18]) end
  local why = failure ~= '' and failure or gate[9]
  redis.call('HSET', KEYS[1], 'state', 'open', 'why', why, 'probe', '', 'probe_at', now + pause,
    'openings', openings + 1, 'lasting', verdict == 'hopeless' and 1 or 0)
  if openings == 0 then redis.call('HSET', KEYS[1], 'since', now) end
  redis.call('HINCRBY', KEYS[3], 'openings', 1)
  answer = {'opened', why, math.ceil(pause)}
end

local bad = verdict == 'failing' or verdict == 'hopeless'
if gate[1] == 'open' then
  if token ~= '' and gate[3] == token then  -- the probe decides; of calls from before the opening nothing more is learned
    if bad or (verdict == 'silent' and failure ~= 'rate_limited') then
      open(tonumber(gate[6]))
    else
      redis.call('HSET', KEYS[1], 'state', '', 'since', now, 'why', '', 'probe', '', 'streak', 0, 'latest', '', 'openings', 0)
      answer = {'closed', now - gate[2]}
    end
  end
elseif verdict ~= 'silent' then
  local window = tonumber(ARGV[16])
  local latest = string.sub((gate[5] or '') .. string.rep(bad and '1' or '0', math.min(calls, window)), -window)
  local streak = bad and tonumber(gate[4] or 0) + calls or 0
  redis.call('HSET', KEYS[1], 'streak', streak, 'latest', latest)
  local _, failures = string.gsub(latest, '1', '')
  if verdict == 'hopeless' or streak >= tonumber(ARGV[14])
    or (bad and #latest >= window and failures >= ARGV[15] * window) then
    open(0)
  end
end
return answer

-- Records what each caller holds at an endpoint. A caller is a process that calls it; once it is missing, others may
-- take what it holds. Prelude of the gate's scripts. A token is '<caller>:<nonce>'; one without a colon belongs to an
-- older version or to a probe without a call, and what it holds is released only when it expires.
--   KEYS[6]  cogitate:endpoint:{<name>}:calls    hash  token -> '<requests> <tokens> <model>': the time that a waiting
--                                            call's place takes in either queue; 0 for a call in flight
--   KEYS[7]  cogitate:endpoint:{<name>}:callers  zset  caller, scored by when it counts as missing
--
-- If no caller has reported, Redis was unreachable or no process called, so none counts as missing yet: each gets the
-- time to report once more, which half a microsecond in its score marks.

local MISSED_AFTER = 6000000  -- microseconds after a caller's last report; it reports every two seconds during calls
local ONCE_MORE = 0.5
local calls, callers = KEYS[6], KEYS[7]

local function caller_of(token) return string.match(token, '^(.*):') end

-- Releases what a call holds: its slots, its places in the queues, and its right to try what is open or set aside.
local function free_call(token)
  local kept = redis.call('HGET', calls, token)
  if not kept then return end
  local gate, slots = KEYS[1], KEYS[2]
  local requests, tokens, model = string.match(kept, '^(%S+) (%S+) (.*)$')
  redis.call('HDEL', calls, token)
  redis.call('ZREM', slots, token)
  redis.call('ZREM', slots .. ':' .. model, token)
  for clock, cost in pairs({requests = requests, tokens = tokens}) do  -- calls behind it move up
    if tonumber(cost) > 0 then redis.call('HINCRBYFLOAT', gate, clock .. '.drift', '-' .. cost) end
  end
  local probe, trying = unpack(redis.call('HMGET', gate, 'probe', 'trying:' .. model))
  if probe == token then redis.call('HSET', gate, 'probe', '') end
  if trying == token then redis.call('HDEL', gate, 'tried:' .. model, 'trying:' .. model) end
end

-- Releases what missing callers hold, except `me`.
local function free_missed(me, now)
  local overdue, gone = redis.call('ZRANGEBYSCORE', callers, '-inf', now, 'WITHSCORES'), {}
  if #overdue == 0 then return end
  local silence = #redis.call('ZRANGEBYSCORE', callers, '(' .. string.format('%.0f', now), '+inf', 'LIMIT', 0, 1) == 0
  for i = 1, #overdue, 2 do
    local caller, missed_at = overdue[i], tonumber(overdue[i + 1])
    if caller ~= me and silence and missed_at > 0 and missed_at % 1 ~= ONCE_MORE then
      redis.call('ZADD', callers, string.format('%.1f', now + MISSED_AFTER + ONCE_MORE), caller)
    elseif caller ~= me then
      redis.call('ZREM', callers, caller)
      gone[caller] = true
    end
  end
  if next(gone) == nil then return end
  local known = redis.call('HGETALL', calls)
  for i = 1, #known, 2 do
    if gone[caller_of(known[i])] then free_call(known[i]) end
  end
end

local function hear(caller, now)
  if caller then redis.call('ZADD', callers, string.format('%.0f', now + MISSED_AFTER), caller) end
end

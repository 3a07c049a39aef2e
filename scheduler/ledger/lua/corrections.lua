-- Prelude of the steps that learn the final usage of an ended job. Keys, all under the run's prefix:
--   <run>charged      hash  key of an ended job that admission counts in full -> JSON, the host's
--   <run>unsettled    hash  key of such a job -> token of its newest attempt, whose usage is unknown
--   <run>corrections  hash  key of such a job -> JSON: usage of its newest attempt, saved: whether nothing was spent, since an
--                           identical call brought the answer, at: the run's tick at which the usage was known, and inputs:
--                           the hash of what the attempt depended on, '' if it made no prompt
-- Only the host removes corrections, with the tick that corrects its view. The retry pool pays for attempts before the
-- newest; no view counts them.

-- A job that shared the answer of an identical call counts like that call, even if it ends without its result. `used`
-- is {calls, tokens, usd_micros}.
local function correct(run, key, used, result, tick)
  local readable, found = pcall(cjson.decode, result or '')
  if not (readable and type(found) == 'table') then found = {} end
  local saved = found.saved == true and type(found.usage) == 'table'
  if saved then used = {found.usage.calls, found.usage.tokens, found.usage.usd_micros} end
  local calls, tokens, usd_micros = unpack(used, 1, 3)
  local inputs = type(found.inputs) == 'string' and found.inputs:match('^%x+$') or ''
  redis.call('HSET', run .. 'corrections', key, string.format('{"usage":[%d,%d,%d],"saved":%s,"at":%d,"inputs":"%s"}',
    tonumber(calls) or 0, tonumber(tokens) or 0, tonumber(usd_micros) or 0, tostring(saved), tonumber(tick), inputs))
end

-- {key, JSON, …}
shows[#shows + 1] = {name = 'corrections', of = function(run) return redis.call('HGETALL', run .. 'corrections') end}

-- Remember a job that ends now without a result: its final usage is known, or will be once its attempt settles.
local function charge(run, key, tick)
  local claims, latest, usage, state, result =
    unpack(redis.call('HMGET', run .. 'job:' .. key, 'claims', 'latest', 'last', 'state', 'result'))
  latest = latest or ''
  local readable, last = pcall(cjson.decode, usage or '')
  if tonumber(claims or '') == 0 then
    correct(run, key, {0, 0, 0}, state == 'staged' and result or '', tick)  -- a fork has results without a claim
  elseif redis.call('HEXISTS', run .. 'attempts', latest) == 1 or redis.call('HEXISTS', run .. 'lost', latest) == 1 then
    redis.call('HSET', run .. 'unsettled', key, latest)
  elseif readable and type(last) == 'table' then
    correct(run, key, last, state == 'staged' and result or '', tick)
  end  -- otherwise its record was removed or changed
end
remember.charged = charge

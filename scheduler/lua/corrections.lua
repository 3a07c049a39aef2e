-- Prelude of the steps that learn what an ended job came to. Keys, all under the run's prefix:
--   <run>charged      hash  key of an ended job that admission counts in full -> JSON, the host's
--   <run>unsettled    hash  key of such a job -> token of its newest attempt, whose usage is unknown
--   <run>corrections  hash  key of such a job -> JSON: usage of its newest attempt, saved: whether nothing was spent, as an
--                           identical call was answered so, and at: the run's tick at which it was known
-- Only the host removes corrections, with the tick that it commits: it has moved its view by then. Attempts before the
-- newest are the retry pool's, and in nobody's view.

local MOST_CORRECTIONS = 1000  -- of one answer; further ones are shown once these are taken

-- A job whose call was saved counts as if it had called, also when it ends without its result.
local function correct(run, key, used, result, tick)
  local readable, found = pcall(cjson.decode, result or '')
  local saved = readable and type(found) == 'table' and found.saved == true and type(found.usage) == 'table'
  if saved then used = {found.usage.calls or 0, found.usage.tokens or 0, found.usage.usd_micros or 0} end
  redis.call('HSET', run .. 'corrections', key, string.format('{"usage":[%d,%d,%d],"saved":%s,"at":%d}',
    used[1], used[2], used[3], tostring(saved), tonumber(tick)))
end

-- {key, JSON, …}
local function corrections(run)
  local found, keys = {}, redis.call('HKEYS', run .. 'corrections')
  for i = 1, math.min(#keys, MOST_CORRECTIONS) do
    found[#found + 1] = keys[i]
    found[#found + 1] = redis.call('HGET', run .. 'corrections', keys[i])
  end
  return found
end

-- Prelude of the steps that handle answers after their job's end. Keys, all under the run's prefix:
--   <run>awaited  hash  key of a job that ended without its answer -> JSON, the host's, of the entries in its place
--   <run>offered  hash  key of an awaited job -> JSON result of a model, the first that came
--   <run>job:<key>  hash  an open job; result: also the first answer that came when the job was dead
-- Only the host writes `awaited` and removes from both, with the tick that it commits.

local MOST_OFFERS = 100  -- in one answer; the rest follow once the host has taken these

-- Whether a result, '' for none, is an answer of a model.
local function is_answer(result)
  local readable, found = pcall(cjson.decode, result)
  return readable and type(found) == 'table' and (found.source == 'llm' or found.source == 'cached')
end

-- Keeps a result for the host if its job is awaited, it is a model's and it is the first. Answers whether it is kept.
local function offer(run, key, result)
  return redis.call('HEXISTS', run .. 'awaited', key) == 1 and is_answer(result)
    and redis.call('HSETNX', run .. 'offered', key, result) == 1
end

-- {key, result JSON, …}
local function offered(run)
  local offers, keys = {}, redis.call('HKEYS', run .. 'offered')
  for i = 1, math.min(#keys, MOST_OFFERS) do
    offers[#offers + 1] = keys[i]
    offers[#offers + 1] = redis.call('HGET', run .. 'offered', keys[i])
  end
  return offers
end
shows[#shows + 1] = {name = 'offered', of = offered}

-- Awaits the answer to a job that ends now. One may have come after the host had looked.
local function await(run, key)
  local result = redis.call('HGET', run .. 'job:' .. key, 'result')
  if result then offer(run, key, result) end
end
remember.awaited = await

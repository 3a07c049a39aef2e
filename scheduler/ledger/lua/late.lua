-- Prelude of the steps that handle answers after their job's end. Keys, all under the run's prefix:
--   <run>awaited  hash  key of a job that ended without its answer -> JSON, the host's, of the entries in its place
--   <run>offered  hash  key of an awaited job -> JSON of the first result of a model
--   <run>job:<key>  hash  an open job; result: also the first answer that arrived after the job was dead
-- Only the host writes `awaited` and removes from both, with the tick that it commits.

local MOST_OFFERS = 100  -- in one answer; the rest follow once the host has taken these

-- Whether a result, '' for none, is an answer of a model.
local function is_answer(result)
  local readable, found = pcall(cjson.decode, result)
  return readable and type(found) == 'table' and (found.source == 'llm' or found.source == 'cached')
end

-- Store a result for the host if its job is awaited, and it is the first one of a model. Return whether it is stored.
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

-- Await the answer to a job that ends now. It may have arrived after the host's last reading.
local function await(run, key)
  local result = redis.call('HGET', run .. 'job:' .. key, 'result')
  if result then offer(run, key, result) end
end
remember.awaited = await

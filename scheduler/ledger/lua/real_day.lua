-- The spending of all runs together on models on one real day, or of an experiment's runs, under a limit.
--   KEYS[1]  cogitate:real_day:<YYYY-MM-DD>  hash; an experiment's ends with "experiment"
--     reserved:<unit>, spent:<unit>   of the calls in flight, and of those that have ended; unit: tokens, usd_micros
--     overrun:<unit>                  part of the spending beyond its reservations
--     refused                         calls that the limit refused
--     call:<token>                    reservation of a call in flight: "tokens,usd_micros"
-- ARGV  'reserve', token, tokens, micro-dollars, limits of the two ('' for none), seconds to keep the day ('' for ever)
--    or 'settle', token, tokens, micro-dollars
-- Answers reserved | refused, or settled | unknown. Both may be repeated: a token counts once.

local day = KEYS[1]
local verb, token, tokens, usd_micros, token_limit, usd_limit, seconds = unpack(ARGV)
local field = 'call:' .. token
local units, amounts = {'tokens', 'usd_micros'}, {tonumber(tokens), tonumber(usd_micros)}
local limits = {token_limit or '', usd_limit or ''}

local function book(account, amount)
  if amount ~= 0 then redis.call('HINCRBY', day, account, string.format('%d', amount)) end
end

local held = redis.call('HGET', day, field)
if verb == 'settle' then
  if not held then return 'unknown' end
  local held_tokens, held_usd_micros = held:match('^(%d+),(%d+)$')
  local reserved = {tonumber(held_tokens), tonumber(held_usd_micros)}
  for u, unit in ipairs(units) do
    book('reserved:' .. unit, -reserved[u])
    book('spent:' .. unit, amounts[u])
    book('overrun:' .. unit, math.max(0, amounts[u] - reserved[u]))
  end
  redis.call('HDEL', day, field)
  return 'settled'
end

if held then return 'reserved' end
for u, unit in ipairs(units) do
  local limit = tonumber(limits[u])
  if limit then
    local reserved, spent = unpack(redis.call('HMGET', day, 'reserved:' .. unit, 'spent:' .. unit))
    if tonumber(reserved or 0) + tonumber(spent or 0) + amounts[u] > limit then
      redis.call('HINCRBY', day, 'refused', 1)
      if seconds ~= '' then redis.call('EXPIRE', day, seconds) end
      return 'refused'
    end
  end
end
for u, unit in ipairs(units) do book('reserved:' .. unit, amounts[u]) end
redis.call('HSET', day, field, string.format('%d,%d', tonumber(tokens), tonumber(usd_micros)))
if seconds ~= '' then redis.call('EXPIRE', day, seconds) end
return 'reserved'

-- Forgets what was learned about an endpoint at another address. Prelude of the gate's scripts.
--   KEYS[1]  field `server`: the address that the process named whose first call came last
--   KEYS[4]  the latest durations  KEYS[5]  the latest changes
-- The clocks of configured limits stay, since waiting calls have places in their queues, and so do calls in flight.

local function meet_server(server, now)
  if not server or server == '' then return end
  local gate = KEYS[1]
  local known = redis.call('HGET', gate, 'server')
  if known == server then return end
  if known then
    if redis.call('HGET', gate, 'state') == 'open' then
      redis.call('RPUSH', KEYS[5], string.format('%.0f closed', now))  -- leave.lua trims the list
    end
    local fields = redis.call('HGETALL', gate)
    for i = 1, #fields, 2 do
      if not (string.find(fields[i], '^requests%.') or string.find(fields[i], '^tokens%.')) then
        redis.call('HDEL', gate, fields[i])
      end
    end
    redis.call('DEL', KEYS[4])
  end
  redis.call('HSET', gate, 'server', server)
end

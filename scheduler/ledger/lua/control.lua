-- An operator asks something of a run.
--   KEYS[1]  cogitate:{<name>}:incarnation   string  nonce of the run's present incarnation
-- and under cogitate:{<name>}:<nonce>: (the run's prefix)
--   state     hash  status
--   controls  list  JSON requests that were not applied yet, the oldest first
--   knock     list  at most one element, to wake a host that waits
-- ARGV  1 prefix without nonce  2 incarnation  3 most requests that may wait  4… requests, JSON
-- Answers {'ok', status} | {'gone'} | {'over'} | {'full'}.

if redis.call('GET', KEYS[1]) ~= ARGV[2] then return {'gone'} end
local run = ARGV[1] .. ARGV[2] .. ':'
local status = redis.call('HGET', run .. 'state', 'status')
if not status then return {'gone'} end
if status == 'cancelled' then return {'over'} end
if redis.call('LLEN', run .. 'controls') + #ARGV - 3 > tonumber(ARGV[3]) then return {'full'} end
for i = 4, #ARGV do  -- each names an id of its own: one that is there was sent before, and its reply lost
  if not redis.call('LPOS', run .. 'controls', ARGV[i]) then redis.call('RPUSH', run .. 'controls', ARGV[i]) end
end
redis.call('DEL', run .. 'knock')
redis.call('RPUSH', run .. 'knock', '1')
return {'ok', status}

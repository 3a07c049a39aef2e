-- An operator sends control requests to a run.
--   KEYS[1]  cogitate:{<name>}:incarnation   string  nonce of the run's present incarnation
-- and under cogitate:{<name>}:<nonce>: (the run's prefix)
--   state     hash  status
--   controls  list  JSON requests that no host has applied yet, the oldest first
--   knock     list  at most one element, to wake a host that waits
-- ARGV  1 prefix without nonce  2 incarnation  3 most requests that may wait  4… requests, JSON
-- Answers {'ok', status} | {'gone'} | {'over'} | {'full'}.

local present = KEYS[1]
local base, incarnation, most = unpack(ARGV, 1, 3)
local REQUESTS = 4  -- index of the first request
local run = base .. incarnation .. ':'
local controls, knock = run .. 'controls', run .. 'knock'

if redis.call('GET', present) ~= incarnation then return {'gone'} end
local status = redis.call('HGET', run .. 'state', 'status')
if not status then return {'gone'} end
if status == 'cancelled' then return {'over'} end
if redis.call('LLEN', controls) + #ARGV - REQUESTS + 1 > tonumber(most) then return {'full'} end
for i = REQUESTS, #ARGV do  -- ids are unique: a known request was sent before, and its reply was lost
  local request = ARGV[i]
  if not redis.call('LPOS', controls, request) then redis.call('RPUSH', controls, request) end
end
redis.call('DEL', knock)
redis.call('RPUSH', knock, '1')
return {'ok', status}

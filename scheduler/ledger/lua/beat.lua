-- A worker sends its heartbeat. The script creates nothing for a run that does not exist.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
--   <run>beats                               hash    worker -> counter
-- ARGV  1 prefix without nonce  2 incarnation  3 worker
local present = KEYS[1]
local base, incarnation, worker = unpack(ARGV)
local beats = base .. incarnation .. ':beats'

if redis.call('GET', present) ~= incarnation then return 0 end
if redis.call('HEXISTS', beats, worker) == 0 then return 0 end
return redis.call('HINCRBY', beats, worker, 1)

-- A worker parks the request of its attempt for the next batch. From then on the attempt needs no worker, and has no
-- lease.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
-- and under the run's prefix
--   batched      hash  token -> JSON of an attempt whose request waits for a batch, or is in one
--   batch_lines  hash  token -> its request, until a batch holds it
--   job:<key>    hash  single: '1' if a batch did not answer the job before
-- ARGV  1 prefix without nonce  2 incarnation  3 job key  4 token  5 JSON of the attempt  6 request
-- Answers 1, or 0 if the request must be sent alone.
local present = KEYS[1]
local base, incarnation, key, token, record, line = unpack(ARGV)
local run = base .. incarnation .. ':'

if redis.call('GET', present) ~= incarnation then return 0 end
local state, running, single = unpack(redis.call('HMGET', run .. 'job:' .. key, 'state', 'token', 'single'))
local raw = redis.call('HGET', run .. 'attempts', token)
if state ~= 'open' or running ~= token or single == '1' or not raw then return 0 end
local attempt = cjson.decode(raw)
attempt.batched = 1
redis.call('HSET', run .. 'attempts', token, cjson.encode(attempt))
redis.call('HSET', run .. 'batched', token, record)
redis.call('HSET', run .. 'batch_lines', token, line)
return 1

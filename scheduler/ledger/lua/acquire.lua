-- A host takes a run: it creates or resumes it. From here on every other host is fenced.
--   KEYS[1]  cogitate:{<name>}:incarnation   string  nonce of the run's present incarnation
--   <run>state                               hash  waits: '1' while an operator has paused the run
--                                                  schema: version of everything in it
-- ARGV  1 prefix without nonce  2 'create' or 'resume'  3 nonce of a new incarnation  4 holder nonce
--       5 schema version  6 the host's name, for information  7… fields of a new state
-- Answers {'ok', incarnation, epoch, seq} | {'exists'} | {'none'} | {'schema', schema} | {'unreadable'}.

local present = KEYS[1]
local base, mode, nonce, holder, known, host = unpack(ARGV, 1, 6)
local FIELDS = 7  -- index of the first of them

local incarnation = redis.call('GET', present)
if mode == 'create' then
  if incarnation and incarnation ~= nonce then return {'exists'} end
  if not incarnation then
    incarnation = nonce
    redis.call('SET', present, incarnation)
    redis.call('HSET', base .. incarnation .. ':state', 'schema', known, 'epoch', 0, 'seq', 0, 'step', '',
      'tick', 0, 'digest', '', 'chain', '', unpack(ARGV, FIELDS))
  end
elseif not incarnation then
  return {'none'}
end
local state = base .. incarnation .. ':state'
local schema = redis.call('HGET', state, 'schema')
if not schema or not tonumber(schema) then return {'unreadable'} end
if tonumber(schema) ~= tonumber(known) then return {'schema', schema} end
if redis.call('HGET', state, 'holder') ~= holder then
  redis.call('HINCRBY', state, 'epoch', 1)
  redis.call('HSET', state, 'holder', holder, 'host', host, 'status',
    redis.call('HGET', state, 'waits') == '1' and 'paused' or 'running')
end
return {'ok', incarnation, redis.call('HGET', state, 'epoch'), redis.call('HGET', state, 'seq')}

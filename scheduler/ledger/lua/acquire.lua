-- A host takes a run: creates it or goes on with it. From here on every other host is fenced.
--   KEYS[1]  cogitate:{<name>}:incarnation   string  nonce of the run's present incarnation
--   <run>state                               hash  waits: '1' while an operator has paused the run
--                                                  created: schema version that created it; of before there was one: none
-- ARGV  1 prefix without nonce  2 'create' or 'resume'  3 nonce of a new incarnation  4 holder nonce
--       5 schema version  6 who the host is, for people  7… fields of a new state
-- Answers {'ok', incarnation, epoch, seq} | {'exists'} | {'none'} | {'newer', schema} | {'unreadable'}.

local incarnation = redis.call('GET', KEYS[1])
if ARGV[2] == 'create' then
  if incarnation and incarnation ~= ARGV[3] then return {'exists'} end
  if not incarnation then
    incarnation = ARGV[3]
    redis.call('SET', KEYS[1], incarnation)
    redis.call('HSET', ARGV[1] .. incarnation .. ':state', 'schema', ARGV[5], 'created', ARGV[5], 'epoch', 0, 'seq', 0, 'step', '', 'tick', 0,
      'digest', '', 'chain', '', unpack(ARGV, 7))
  end
elseif not incarnation then
  return {'none'}
end
local state = ARGV[1] .. incarnation .. ':state'
local schema = redis.call('HGET', state, 'schema')
if not schema or not tonumber(schema) then return {'unreadable'} end
if tonumber(schema) > tonumber(ARGV[5]) then return {'newer', schema} end
if tonumber(schema) < tonumber(ARGV[5]) then redis.call('HSET', state, 'schema', ARGV[5]) end
if redis.call('HGET', state, 'holder') ~= ARGV[4] then
  redis.call('HINCRBY', state, 'epoch', 1)
  redis.call('HSET', state, 'holder', ARGV[4], 'host', ARGV[6], 'status',
    redis.call('HGET', state, 'waits') == '1' and 'paused' or 'running')
end
return {'ok', incarnation, redis.call('HGET', state, 'epoch'), redis.call('HGET', state, 'seq')}

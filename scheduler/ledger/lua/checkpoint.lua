-- A host writes a checkpoint of the journal at the tick that is committed: its streams first, in several steps where they
-- are many, then the chained entry. What an earlier host had begun at another tick and not finished is removed.
--   KEYS[1]  <run>state               hash    tick, chain; checkpointing: tick of a checkpoint without its entry
-- and under the run's prefix the keys of fence.lua, and
--   journal_checkpoint:<tick>         hash    owner -> its stream, packed
--   journal_checkpoints               hash    tick -> chained entry
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 tick  7 chained entry, or '' before the last step
--       8 chain after it  9… owner, its stream, …
-- Answers {'ok'} or an answer of fence.lua.

local run = ARGV[1]
local stop = fence(run, ARGV[2], ARGV[3], ARGV[4], ARGV[5])
if stop then return stop end
local state = redis.call('HMGET', KEYS[1], 'tick', 'checkpointing')
if state[1] ~= ARGV[6] then return {'fenced', ARGV[2], state[1]} end
if state[2] and state[2] ~= ARGV[6] then redis.call('DEL', run .. 'journal_checkpoint:' .. state[2]) end
for i = 9, #ARGV, 2 do
  redis.call('HSET', run .. 'journal_checkpoint:' .. ARGV[6], ARGV[i], ARGV[i + 1])
end
if ARGV[7] == '' then
  redis.call('HSET', KEYS[1], 'checkpointing', ARGV[6])
else
  redis.call('HSET', run .. 'journal_checkpoints', ARGV[6], ARGV[7])
  redis.call('HSET', KEYS[1], 'chain', ARGV[8])
  redis.call('HDEL', KEYS[1], 'checkpointing')
end
return {'ok'}

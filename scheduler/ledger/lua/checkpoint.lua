-- A host writes a checkpoint of the journal at the last committed tick: first its streams, in several steps if they are
-- many, then the chained entry. It removes an unfinished checkpoint of an earlier host at another tick.
--   KEYS[1]  <run>state               hash    tick, chain; checkpointing: tick of a checkpoint without its entry
-- and under the run's prefix the keys of fence.lua, and
--   journal_checkpoint:<tick>         hash    owner -> its stream, packed
--   journal_checkpoints               hash    tick -> chained entry
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 tick  7 chained entry, or '' before the last step
--       8 chain after it  9… owner, its stream, …
-- Answers {'ok'} or an answer of fence.lua.

local state = KEYS[1]
local run, epoch, holder, seq, step, tick, entry, chain = unpack(ARGV, 1, 8)
local STREAMS = 9  -- index of the first owner, before its stream
local streams = run .. 'journal_checkpoint:'

local stop = fence(run, epoch, holder, seq, step)
if stop then return stop end
local committed, unfinished = unpack(redis.call('HMGET', state, 'tick', 'checkpointing'))
if committed ~= tick then return {'fenced', epoch, committed} end
if unfinished and unfinished ~= tick then redis.call('DEL', streams .. unfinished) end
for i = STREAMS, #ARGV, 2 do
  local owner, packed = unpack(ARGV, i, i + 1)
  redis.call('HSET', streams .. tick, owner, packed)
end
if entry == '' then
  redis.call('HSET', state, 'checkpointing', tick)
else
  redis.call('HSET', run .. 'journal_checkpoints', tick, entry)
  redis.call('HSET', state, 'chain', chain)
  redis.call('HDEL', state, 'checkpointing')
end
return {'ok'}

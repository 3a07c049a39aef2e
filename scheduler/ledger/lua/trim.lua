-- A host removes the journal's lines up to a tick that has a checkpoint, and the checkpoints before it.
--   KEYS[1]  <run>state               hash    trimmed: last tick whose line is gone
-- and under the run's prefix the keys of fence.lua, and
--   journal                           list    one line a tick, the first is that of tick trimmed + 1
--   journal_checkpoints               hash    tick -> chained entry
--   journal_checkpoint:<tick>         hash    owner -> its stream, packed
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 tick
-- Answers {'ok'} or an answer of fence.lua.

local run = ARGV[1]
local stop = fence(run, ARGV[2], ARGV[3], ARGV[4], ARGV[5])
if stop then return stop end
local checkpoints = run .. 'journal_checkpoints'
local trimmed, tick = tonumber(redis.call('HGET', KEYS[1], 'trimmed') or 0), tonumber(ARGV[6])
if tick <= trimmed or redis.call('HEXISTS', checkpoints, ARGV[6]) == 0 then
  return {'fenced', ARGV[2], string.format('%d', trimmed)}
end
redis.call('LTRIM', run .. 'journal', tick - trimmed, -1)
redis.call('HSET', KEYS[1], 'trimmed', ARGV[6])
for _, at in ipairs(redis.call('HKEYS', checkpoints)) do
  if tonumber(at) < tick then
    redis.call('HDEL', checkpoints, at)
    redis.call('DEL', run .. 'journal_checkpoint:' .. at)
  end
end
return {'ok'}

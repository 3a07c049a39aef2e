-- A host removes the journal's lines up to a tick that has a checkpoint, and all earlier checkpoints.
--   KEYS[1]  <run>state               hash    trimmed: last tick whose line was removed
-- and under the run's prefix the keys of fence.lua, and
--   journal                           list    one line per tick, the first of tick trimmed + 1
--   journal_checkpoints               hash    tick -> chained entry
--   journal_checkpoint:<tick>         hash    owner -> its stream, packed
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6 tick
-- Answers {'ok'} or an answer of fence.lua.

local state = KEYS[1]
local run, epoch, holder, seq, step, tick = unpack(ARGV)
local checkpoints = run .. 'journal_checkpoints'

local stop = fence(run, epoch, holder, seq, step)
if stop then return stop end
local trimmed = tonumber(redis.call('HGET', state, 'trimmed') or 0)
if tonumber(tick) <= trimmed or redis.call('HEXISTS', checkpoints, tick) == 0 then
  return {'fenced', epoch, string.format('%d', trimmed)}
end
redis.call('LTRIM', run .. 'journal', tonumber(tick) - trimmed, -1)
redis.call('HSET', state, 'trimmed', tick)
for _, at in ipairs(redis.call('HKEYS', checkpoints)) do
  if tonumber(at) < tonumber(tick) then
    redis.call('HDEL', checkpoints, at)
    redis.call('DEL', run .. 'journal_checkpoint:' .. at)
  end
end
return {'ok'}

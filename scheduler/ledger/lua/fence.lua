-- Prelude of every host step. Reads and writes:
--   <run>state   hash  epoch, holder, seq: the host that holds the run and its next step; step: digest of the last step
--
-- A host step carries (epoch, holder nonce, sequence number). A mismatch stops that host. A step that is sent again
-- because its reply was lost has the same digest, and the script does not repeat it.

-- Returns nil to let the step continue, otherwise the answer for the host: {'already'} | {'fenced', epoch, seq} | {'gone'}.
local function fence(run, epoch, holder, seq, step)
  local state = run .. 'state'
  local held_epoch, held_holder, held_seq, last_step = unpack(redis.call('HMGET', state, 'epoch', 'holder', 'seq', 'step'))
  if not held_epoch then return {'gone'} end
  if held_epoch ~= epoch or held_holder ~= holder then return {'fenced', held_epoch, held_seq} end
  if held_seq == seq then
    redis.call('HSET', state, 'seq', string.format('%d', tonumber(seq) + 1), 'step', step)
    return nil
  end
  if tonumber(held_seq) == tonumber(seq) + 1 and last_step == step then return {'already'} end
  return {'fenced', held_epoch, held_seq}
end

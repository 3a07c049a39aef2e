-- Prelude of every host step. Reads and writes:
--   <run>state   hash  epoch, holder, seq: whose turn it is; step: digest of the last step's bytes
--
-- A host step names (epoch, holder nonce, sequence number). A mismatch stops that host. The same step sent
-- again, because its reply was lost, is recognised by its digest and not carried out twice.

-- nil: go on. Otherwise the answer for the host: {'already'} | {'fenced', epoch, seq} | {'gone'}.
local function fence(run, epoch, holder, seq, step)
  local state = run .. 'state'
  local at = redis.call('HMGET', state, 'epoch', 'holder', 'seq', 'step')
  if not at[1] then return {'gone'} end
  if at[1] ~= epoch or at[2] ~= holder then return {'fenced', at[1], at[3]} end
  if at[3] == seq then
    redis.call('HSET', state, 'seq', string.format('%d', tonumber(seq) + 1), 'step', step)
    return nil
  end
  if tonumber(at[3]) == tonumber(seq) + 1 and at[4] == step then return {'already'} end
  return {'fenced', at[1], at[3]}
end

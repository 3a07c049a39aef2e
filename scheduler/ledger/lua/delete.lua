-- Deletes the keys without which a run does not exist. From here on no host and no worker can write to it, because each
-- of their steps first reads one of these two keys. The caller removes the other keys afterwards.
--   KEYS[1]  cogitate:{<name>}:incarnation   string
--   <run>state                               hash
-- ARGV  1 run prefix  2 incarnation  3 epoch  4 seq of the host when it was seen idle; '' for any
-- Answers 1; 0 if a host has taken a step meanwhile, or another run has the name.
local present = KEYS[1]
local run, incarnation, epoch, seq = unpack(ARGV)
local state = run .. 'state'

if redis.call('GET', present) ~= incarnation then return 0 end
local held_epoch, held_seq = unpack(redis.call('HMGET', state, 'epoch', 'seq'))
if epoch ~= '' and (held_epoch ~= epoch or held_seq ~= seq) then return 0 end
redis.call('DEL', present, state)
return 1

-- A host asks whether workers are ready. The step removes earlier trial hints, of this host or another.
--   <run>readiness  hash  key of a trial hint -> asked | taken | answered
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6… keys
local run, epoch, holder, seq, step = unpack(ARGV, 1, 5)
local HINTS = 6  -- index of the first key
local readiness = run .. 'readiness'

local stop = fence(run, epoch, holder, seq, step)
if stop then return stop end
redis.call('DEL', readiness)
for i = HINTS, #ARGV do redis.call('HSET', readiness, ARGV[i], 'asked') end
return {'ok'}

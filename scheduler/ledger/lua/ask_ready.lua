-- A host asks whether workers are there: what it asked before, of itself or another, is forgotten.
--   <run>readiness  hash  key of a trial hint -> asked | taken | answered
-- ARGV  1 run prefix  2 epoch  3 holder  4 seq  5 step digest  6… keys
local stop = fence(ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5])
if stop then return stop end
redis.call('DEL', ARGV[1] .. 'readiness')
for i = 6, #ARGV do redis.call('HSET', ARGV[1] .. 'readiness', ARGV[i], 'asked') end
return {'ok'}

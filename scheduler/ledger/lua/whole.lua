-- Prelude of every script on a run. While a cluster's slot moves key by key to another server, the first access to a
-- moved key aborts a script, even if it has written before. So this access precedes every write. The key exists while
-- the run leaves this ledger and for a while afterwards: then the caller repeats the step, and finds the other ledger.
if redis.call('EXISTS', KEYS[1]:match('^.-}') .. ':moving') == 1 then
  return redis.error_reply('TRYAGAIN the run leaves this ledger: `cogitate move` completes a move that was interrupted')
end

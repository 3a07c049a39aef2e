-- Prelude of every script on a run. While a cluster's slot moves key by key to another server, a script there finds the
-- keys that have left neither here nor missing: the first access to one ends it, whatever it has written by then. This
-- access comes before it writes anything. The key exists while the run leaves this ledger, and for a while after that:
-- the caller then repeats the step, and finds the other ledger.
if redis.call('EXISTS', KEYS[1]:match('^.-}') .. ':moving') == 1 then
  return redis.error_reply('TRYAGAIN the run leaves this ledger: `cogitate move` completes a move that was interrupted')
end

-- Prelude of every script on a run. While a cluster's slot moves key by key to another server, a script there finds the
-- keys that have left neither here nor missing: the first access to one ends it, whatever it has written by then. This
-- access to a key that never exists ends it before it writes anything.
redis.call('EXISTS', KEYS[1]:match('^.-}') .. ':whole')


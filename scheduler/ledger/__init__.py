"""The ledger: the authoritative state of a run in Redis, its keys and scripts, and the steps of hosts and workers."""

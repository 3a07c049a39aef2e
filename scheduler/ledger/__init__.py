"""The ledger: the truth about a run in Redis, its keys and scripts, the steps of hosts and of workers."""

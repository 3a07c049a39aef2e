"""The engine: computes one tick of a run. `engine` ends the jobs that are due and lists the parts, one per feature.

It may import every room of the scheduler but `tick` and `inspection`. It has no clock, no randomness and no network:
the same input gives the same state. It returns the commands for the ledger instead of sending them; only a part's
`load` reads the ledger, through a `RunStore`.
"""

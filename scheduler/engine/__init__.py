"""The engine: what one tick does to a run. `engine` ends the jobs that are due and lists the parts, one a feature.

It may import every room of the scheduler but `tick` and `inspection`. No clock, no randomness, no network: the same
input gives the same state. It returns the commands for the ledger instead of sending them, and only the `load` of a
part reads, through the `RunStore` that it is given.
"""

"""Pages in Flower: Cogitate (all runs), Budgets (a run's spending), Cadence (its queues), Charts, Minds, one per job.

Imports no other room of `cogitate.ops` but `formatting` and `report`. Reads Redis and the broker; `acting` sends
operators' requests. Runs inside Flower's process; workers must not import it.
"""

"""The public tick loop, and what it starts: the embedded server, workers, metrics, warnings.

May import every package except `simulation` and `ops`. Does I/O: opens Redis, starts processes and threads, reads the
clock for pace and metrics. Decides nothing about a run's outcome: `cogitate.scheduler.engine` does, without I/O.
"""

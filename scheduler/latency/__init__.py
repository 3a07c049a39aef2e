"""Learn the latencies of models during a run, and derive due ticks from them.

Decisions depend only on journalled facts and the run's prior, never on a clock. Only `Latencies.load` reads Redis,
through `RunStore`. Code here may import `ledger`, `config` and `intake`, but no other room of the scheduler.
"""

"""Decide which requests become jobs, with which model and at what cost: limits, windows, admission and repairs.

Decisions depend only on their arguments, never on the wall clock. `rules` derives a run's rules from its settings;
`budget_lines` alone reads Redis, through `RunStore`. Code here may import `latency`, `ledger`, `config`, `intake` and
the folders below the scheduler, but not `journal`, `steering`, `engine` or `tick`.
"""

"""The ledger, budgets, admission, cadence, the tick loop, the journal and its replay."""

"""A run: budgets, the ledger, the journal, and the engine that advances it tick by tick.

In every room, `tick` is the number of a tick and `minute` its game time in total minutes; an owner has a name such as
"agent:ada"; `busy(kind, owner)` returns whether a job of this kind and owner is open, deferred or decided in this tick.
"""

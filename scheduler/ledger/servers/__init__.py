"""Clients of a cluster, of servers behind Sentinels, and of several ledgers, each with the interface of one server's.

Only `cogitate.scheduler.ledger.connect` makes them. They know the keys of a run by their tag, and nothing of what the
values mean.
"""

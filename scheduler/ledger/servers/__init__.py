"""Clients of a cluster, of Sentinels and of several ledgers, each with the interface of a client of one server.

Only `cogitate.scheduler.ledger.connect` makes them. They recognise the keys of a run by their tag, and do not interpret
values.
"""

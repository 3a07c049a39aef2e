"""Heuristics of the kinds of job, for when no model answers: an insight, promises, actions, places to go, and plans.

Imports `cogitate.memory` and single modules of `cogitate.tasks`. Pure functions that take milliseconds: no clock, no
randomness, and no I/O except the package's word tables.
"""

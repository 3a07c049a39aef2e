"""One file for each kind of job: when it is due, what it reads, its prompt, its effects, its heuristic.

Imports `cogitate.memory` and `cogitate.prompts`. A kind computes from its arguments alone: no I/O, no clock, no
randomness, so that host and workers come to the same result. `registry` holds the kinds of this process.
"""

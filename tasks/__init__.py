"""One module per kind of job: when it is due, what it reads, its prompt, its effects, its heuristic.

May import `cogitate.memory` and `cogitate.prompts`. A kind is a pure function of its arguments: no I/O, no clock, no
randomness, so that host and workers compute the same result. `registry` holds the kinds of this process.
"""

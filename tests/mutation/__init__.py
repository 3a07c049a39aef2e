"""Mutation testing: plausible bugs are planted in the product one at a time, and the tests must find them.

    make mutate N=200 SEED=1                 # a sample over ledger, loop, memory and workers
    make mutate EACH=20 MODULES=scheduler    # a sample of each module of a folder
    make mutate MODULES=scheduler/budget/budget.py  # every mutation of one module

A mutant is one changed expression or one deleted statement, in Python or in a Lua script. The tests that reach its
line, known from a run under coverage, are run against it, those that found others of its module and the fastest first,
until one fails. Survivors are printed; those that change nothing that anybody could see stand in `explained.toml` with
the reason.
"""

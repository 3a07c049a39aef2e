"""The seeded simulator: the product's own code under one scheduler that decides, from a seed, what happens next.

Real are the tick loop, tasks, ledger scripts, claims, runner and redis-py; fake are the clock, the broker, the model
and the world. The server is a real Valkey (one private server a process, on a unix socket), not fakeredis: what is
searched are the ledger's Lua scripts, of whose semantics (cjson, number formats, COPY, script cache) fakeredis has
its own version, and it runs them some ten times slower.

Each host and each thread of a worker is a greenlet that runs until its next Redis call, the next instant of its wait
or the next answer of the model, and then gives control back. Between any two such steps the scheduler may do what
`faults.py` lists. Nothing else differs between two runs of a seed: not the clock, the nonces or the order of anything.

A seed is some 200 to 600 steps: a few ticks of five owners around a midnight (`scene.py`). After step 300 nothing goes
wrong any more, so that it comes to an end.

    python -m tests.simulation.seeded --seeds 10000     (`make simulate SEEDS=10000`)
    python -m tests.simulation.seeded --seed 17        one seed alone
"""

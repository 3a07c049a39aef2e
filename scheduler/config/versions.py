"""The schema of everything a run writes: one number, raised when another version would misread it.

These carry it, and each refuses any other:

* **Ledger and memory entries**: `schema` in the run's state. Hosts refuse to resume, readers to read, workers to claim.
* **Jobs**: `schema` in a job's record. A worker leaves a newer one to others and spends nothing.
* **Journal**: `v` in each line, so that exported lines can be read without their run.

A result is written in the schema of its job. `tests/fixtures/` keeps a run of the present schema: a version that raises
the number either reads that run or refuses it.
"""

SCHEMA = 7

"""The schema version of everything a run writes: one number, raised whenever an older reader would misread it.

These carry it, and these refuse a newer one:

* **Ledger and memory entries**: `schema` in the run's state. A host that takes a run over raises it to its own, as it
  writes entries and keys in its own format from then on. Hosts refuse to resume, readers to read, workers to claim.
* **Jobs**: `schema` in a job's record. A worker leaves a newer one to others and spends nothing.
* **Journal**: `v` in each line, so that a line can be read long after its run was taken over by a newer version. An
  entry is written as the line of its tick says.

A result is written in the version of its job, and is the same in all of them. A run of an older version is read and
resumed: `tests/fixtures/` keeps one of each. What a version added:

* 2: answers that come after their job's end change memory: `late` in the core of a line, `awaited` and `offered` among
  the keys of a run.
* 3: the journal's lines are compressed; their chain is that of the JSON in them, as before.
* 4: the world's own state is compressed.
* 5: admission's view is corrected when it becomes known what an ended job came to: `corrected` in the notes of a line,
  `charged`, `unsettled` and `corrections` among the keys of a run. An item of a plan may be given the status that
  it has; before, that was a precondition that did not hold.
* 6: due ticks may follow the models' latencies: jobs that are refused as `too_slow`, `timed` in the notes of a line,
  `latencies` and `timed` among the keys of a run. Admission's view counts jobs, and those that ask no model reserve no
  call.
"""

SCHEMA = 6
SAME_STATUS = 5  # from here on an item of a plan may be set to its own status
CORRECTS_VIEW = 5  # from here on jobs that count in full are kept, to be corrected
COUNTS_JOBS = 6  # from here on admission's view counts jobs
GIVES_SIGNS = 6  # from here on every host gives signs of life

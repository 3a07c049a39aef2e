"""The memory of agents: entries, streams, scoring, retrieval, compaction. Pure: no Redis, no clock, no I/O."""

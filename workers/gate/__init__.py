"""The gate in front of every endpoint: rate limits, concurrency and circuit breakers, shared by all workers."""

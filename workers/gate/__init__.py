"""The gate before every endpoint: rate limits, calls in flight, circuit breakers, shared by all workers."""

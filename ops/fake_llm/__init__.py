"""A stand-in for a model's endpoint: OpenAI-compatible, deterministic, and able to fail in every way.

Imports no other room of `cogitate.ops` and needs no run. Listens on a loopback port. Answers, latencies and faults
derive from the request and a seed; only waits use the clock.
"""

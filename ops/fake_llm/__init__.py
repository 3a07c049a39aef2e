"""A stand-in for a model's endpoint: OpenAI-compatible, deterministic, and able to fail in every way.

Imports no other room of `cogitate.ops` and needs no run. Listens on a loopback port. The request and a seed determine
answers, latencies and faults; only waits use the clock.
"""

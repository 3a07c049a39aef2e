"""Admits calls to endpoints: rate limits, calls in flight and circuit breakers, shared by all workers.

Code here runs the gate's scripts in Redis, waits on the real clock and reports from a thread; it decides no effect of
a run. It may import `cogitate.workers.llm` and the packages below, but neither jobs nor processes.
"""

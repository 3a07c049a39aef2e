"""Celery's messages: hints on the wire, the guarded transports of Redis and RabbitMQ, addresses of brokers.

Imports `cogitate.tasks`, `cogitate.scheduler` and `cogitate.memory`, and no other room of `cogitate.workers`. Talks to
the broker through kombu and Lua scripts; the clock only paces how often it looks, and orders nothing.
"""

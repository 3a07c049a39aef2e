"""Celery's messages: hints on the wire, guarded transports for Redis and RabbitMQ, addresses of brokers.

Imports `cogitate.tasks`, `cogitate.scheduler` and `cogitate.memory`, and no other room of `cogitate.workers`. Talks to
the broker through kombu and Lua scripts; the clock only paces its polls and orders nothing.
"""

"""Celery's messages: hints on the wire, the guarded Redis transport, addresses of brokers."""

"""Processes around a host: the embedded server, worker processes, and how none outlives its host."""

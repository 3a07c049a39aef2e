"""Measure what jobs and calls cost a worker."""

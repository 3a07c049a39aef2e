"""Measure a worker's cost per job and per call."""

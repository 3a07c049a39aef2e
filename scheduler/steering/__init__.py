"""Steering: cadence, throttling under pressure, and what operators ask of a run."""

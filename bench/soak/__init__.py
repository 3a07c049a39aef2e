"""Run a town under faults for days."""

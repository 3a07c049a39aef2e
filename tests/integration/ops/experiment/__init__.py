"""Experiments with real workers, a real server and real HTTP."""

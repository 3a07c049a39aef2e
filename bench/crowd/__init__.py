"""Measure what a crowd of agents costs its host."""

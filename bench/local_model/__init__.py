"""Measure what a small model on this machine answers."""

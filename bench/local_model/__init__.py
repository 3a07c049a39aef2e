"""Measure the answers of a small model on this machine."""

"""Measure quality without a model, on recorded data."""

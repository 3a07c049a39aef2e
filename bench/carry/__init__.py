"""Measure retrieval on domains that were not used to tune it."""

"""Measure retrieval on domains that it was not chosen on."""

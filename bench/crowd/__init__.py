"""Measure the cost of many agents to their host."""

"""Batch files: requests that wait for a cheaper answer, hours later."""

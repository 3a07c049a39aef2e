"""Batch files: requests that are answered hours later, at a lower price."""

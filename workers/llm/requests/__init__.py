"""Requests to endpoints: where to, in which dialect, by which schema, and within how many tokens."""

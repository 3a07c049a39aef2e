"""Replies of endpoints: the answer, its usage, a named failure, and facts learned from errors."""

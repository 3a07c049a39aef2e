"""Replies of endpoints: an answer, its usage, a failure by name, and what errors teach."""

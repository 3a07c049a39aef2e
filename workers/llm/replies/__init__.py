"""Reads replies of endpoints: the answer, its usage, a named failure, and what errors teach about the endpoint."""

"""Retrieval: which memories matter most for a query, and why."""

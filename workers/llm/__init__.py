"""The model client: it asks one question at one endpoint, in its dialect, and returns the answer or a named failure."""

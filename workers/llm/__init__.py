"""The model client: it sends one prompt to one endpoint, in its dialect, and returns the answer or a named failure."""

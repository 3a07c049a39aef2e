"""The model client: one question to one endpoint, its dialect, its answer or the failure by name."""

"""What a run will take before it is started: calls, tokens, money."""

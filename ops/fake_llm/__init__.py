"""A stand-in for a model's endpoint: OpenAI-compatible, deterministic, and able to fail in every way."""

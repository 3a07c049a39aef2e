"""A stand-in for a model's endpoint: OpenAI-compatible, deterministic, able to fail in every way."""

"""Heuristics of the kinds of job, for when no model answers: a day's plan, an insight, promises, places to go."""

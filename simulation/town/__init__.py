"""The built-in town: a small world generated from a seed.

May import every package except `ops`. Deterministic: no clock, and no I/O except reading its tables of texts; every
choice derives from the seed.
"""

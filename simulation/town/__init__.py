"""The built-in town: a small world generated from a seed.

May import every package except `ops`. Deterministic: no I/O, no clock; every choice derives from the seed.
"""

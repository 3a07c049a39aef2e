"""The built-in story: a council, a tavern and a company of travellers in a valley, generated from a seed.

May import every package except `ops`. Deterministic: no clock, and no I/O except reading its tables of texts; every
choice derives from the seed.
"""

"""The built-in story: a council, a tavern and a company of travellers in a valley, generated from a seed.

May import every package except `ops`. Deterministic: no I/O, no clock; every choice derives from the seed.
"""

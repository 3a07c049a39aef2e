"""Reference hosts: a small town and a story generated from a seed, and the player of recorded runs.

May import every package except `ops`. Worlds are deterministic: no clock, no global randomness; file I/O only by
the readers and writers of recordings and by `tables`. Texts of worlds reach memories, so a changed text changes the
demo's digest.
"""

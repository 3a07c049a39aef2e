"""The engine: what one tick does to a run, as pure functions of what came in. No I/O, no clock, no randomness."""

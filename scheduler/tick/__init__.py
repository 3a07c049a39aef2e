"""The tick loop: takes a run through boundary, the world's turn and commit; restores, trims and leaves it.

It may import every room of the scheduler but `inspection`, and nothing of workers or hosting, which pass functions in.
It reads the real clock, and talks to Redis only through `HostLedger` and `RunStore`. The loop decides no effect: the
engine does, from the input that the loop gives it.
"""

"""Reads, plays and writes recorded runs in the Generative Agents format.

May import every package except `ops`. Reads and writes files; playing a recording is deterministic and uses no clock.
"""

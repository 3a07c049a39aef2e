"""Estimates the calls, tokens and money that a run will take, before it starts.

May import the rooms of `cogitate.ops` below it, such as `formatting`, and every package. Reads earlier runs in Redis;
the estimate itself is a pure function of settings and demand.
"""

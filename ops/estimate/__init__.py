"""Estimates of the calls, tokens and money that a run will take, before it is started."""

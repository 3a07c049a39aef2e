"""Formats a run's figures for commands and pages: lines, tables, charts, JSON.

Imports no other room of `cogitate.ops`. Its functions are pure: no Redis, no clock.
"""

"""Formats a run's figures for commands and pages: lines, tables, charts, JSON.

Imports no other room of `cogitate.ops`. Pure functions of the figures that they get: no Redis, no clock.
"""

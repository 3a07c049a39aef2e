"""Formatting of a run's figures for commands and pages."""

"""Budgets: windows and limits, the rules of a run, and which requests are admitted under them."""

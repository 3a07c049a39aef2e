"""The bound of every wait in a test: it guards against hanging and measures nothing."""

from __future__ import annotations

LONGEST = 300.0  # seconds; a machine that others use lets a process wait minutes for its turn

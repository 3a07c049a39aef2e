"""How long tests wait for what must come: a guard against waiting for ever, which tells nothing of speed."""

from __future__ import annotations

LONGEST = 300.0  # seconds; a machine that others use lets a process wait minutes for its turn

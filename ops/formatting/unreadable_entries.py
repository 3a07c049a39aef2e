"""Warnings about entries of a run that cannot be read and are left out."""

from __future__ import annotations

from collections.abc import Sequence

from cogitate.hosting.terminal import Terminal
from cogitate.memory.unreadable import LeftOut

MOST = 20  # warnings


def print_left_out(found: Sequence[LeftOut]) -> None:
    """Print on stderr which entries are left out, and why."""
    terminal = Terminal(stderr=True)
    for one in found[:MOST]:
        terminal.print(f"Warning: {one}", highlight=False, soft_wrap=True)
    if len(found) > MOST:
        terminal.print(f"Warning: and {len(found) - MOST:,} more entries", highlight=False, soft_wrap=True)

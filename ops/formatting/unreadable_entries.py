"""Entries of a run that cannot be read, as a command that leaves them out tells of them."""

from __future__ import annotations

from collections.abc import Sequence

from hosting.terminal import Terminal
from memory.unreadable import LeftOut

MOST = 20  # that are named


def print_left_out(found: Sequence[LeftOut]) -> None:
    """Print on stderr which entries were left out, and why."""
    terminal = Terminal(stderr=True)
    for one in found[:MOST]:
        terminal.print(f"Warning: {one}", highlight=False, soft_wrap=True)
    if len(found) > MOST:
        terminal.print(f"Warning: and {len(found) - MOST:,} more entries", highlight=False, soft_wrap=True)

"""What a summary is made of, line by line."""

from __future__ import annotations

from typing import NamedTuple


class Utterance(NamedTuple):
    """One line of a summary's source: its speaker (empty for an observation), text and game time."""

    speaker: str
    text: str
    minute: int
    listener: str = ""  # the only one spoken to, if that is known

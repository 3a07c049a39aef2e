"""What a clause is part of: who says it, and what all lines of the talk tell of each."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from cogitate.memory.language.speakers import Speakers


class Talk(NamedTuple):
    """What all lines of a talk tell of each."""

    speakers: Speakers
    names: Collection[str]  # words that keep their capital


class Speech(NamedTuple):
    """Who says a clause, and how."""

    speaker: str  # "": nobody says it
    listener: str = ""  # the only one spoken to, if that is known
    fluent: bool = True  # the speaker neither hesitated nor broke off
    answers: bool = False  # the line before is a question

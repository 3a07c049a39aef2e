"""Questions to a memory with known answers: their texts, and the entries that contain the answers.

Recorded talk of many speakers gives meetings with questions (QMSum), and games with summaries of their pieces (CRD3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cogitate.memory.entry import Entry


@dataclass(frozen=True)
class Question:
    """A question, and the numbers of the entries that an answer needs."""

    text: str
    kind: str
    evidence: frozenset[int]


@dataclass(frozen=True)
class Asked:
    """One memory, in order of number, and the questions about it."""

    name: str
    entries: Sequence[Entry]
    questions: tuple[Question, ...]

    @property
    def now(self) -> int:
        """Return the game time at which the questions are asked."""
        return self.entries[-1].minute


_FEWEST = 5  # words of a sentence that serves as a question
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def meetings(data: Path) -> list[Asked]:
    """Return recorded meetings with their questions; the turns that answer one are its evidence."""
    return [_meeting(**one) for one in recorded(data / "qmsum")]


def _meeting(name: str, turns: list[dict[str, str]], qs: list[dict[str, Any]]) -> Asked:
    lines = [_line(turn["sp"], turn["text"], name, number) for number, turn in enumerate(turns, start=1)]
    questions = (Question(one["q"], one["cat"], frozenset(place + 1 for place in one["ev"])) for one in qs)
    return Asked(name, lines, tuple(questions))


def games(data: Path) -> list[Asked]:
    """Return all recorded games as one memory; each sentence of a summary is a question for the lines of its piece."""
    return _games(sorted(recorded(data / "crd3"), key=_episode))


def halves_of_games(data: Path) -> list[Asked]:
    """Return recorded games as two memories: every second episode each."""
    pieces = sorted(recorded(data / "crd3"), key=_episode)
    episodes = list(dict.fromkeys(map(_episode, pieces)))
    return [
        memory
        for half in (episodes[::2], episodes[1::2])
        for memory in _games([piece for piece in pieces if _episode(piece) in half])
    ]


def _episode(piece: dict[str, Any]) -> str:
    return str(piece["ep"])


def _games(pieces: Sequence[dict[str, Any]]) -> list[Asked]:
    entries: list[Entry] = []
    questions: list[Question] = []
    for piece in pieces:
        first = len(entries) + 1
        entries += [_line(who, text, piece["ep"], number) for number, (who, text) in enumerate(piece["turns"], first)]
        lines = frozenset(range(first, len(entries) + 1))
        told = [one for one in _SENTENCE_END.split(piece["ref"]) if len(one.split()) >= _FEWEST]
        questions += [Question(sentence, "summary", lines) for sentence in told]
    return [Asked("games", entries, tuple(questions))] if questions else []


def _line(speaker: str, text: str, scene: str, number: int) -> Entry:
    return Entry(
        type="message",
        text=text,
        minute=number,
        number=number,
        subjects=(speaker,),
        source="dialogue",
        source_id=scene,
    )


def recorded(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the meetings or pieces in the files of a folder; none without it."""
    for file in sorted(folder.glob("*.json")):
        yield from json.loads(file.read_text(encoding="utf-8"))

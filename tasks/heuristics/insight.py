"""An insight without a model: one or two sentences on what the last hours or days show, with the entries that show it.

The first says what changed: a promise kept or broken, what happened or was heard, with whom things got better or
worse, who is new, what of the plan came true. The second says what is coming, or what is still owed; where there is
neither, what else changed. Both are told in the first person, and nothing that the latest reflections told already.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from memory.language.sentences import split_sentences
from memory.language.text import normal, stems
from tasks.heuristics.ahead import what_is_ahead
from tasks.heuristics.changed import time_spent, what_changed
from tasks.heuristics.promises import find_promises
from tasks.heuristics.recalled import Finding, Recalled, unplaced

QUIET = "It's been a quiet period. Nothing particularly notable has happened."  # streams design, task 8
WORTH_A_SECOND = 5.0  # of what changed, from which it is told beside something else that did
EVIDENCE = 20  # entries at most (streams design)
READ_AGAIN = 4  # reflections of which nothing is told again


class Insight(NamedTuple):
    """A text and the numbers of the entries it rests on, ascending."""

    text: str
    evidence: tuple[int, ...]


def find_insight(recalled: Recalled) -> Insight:
    """Return what the recent entries show, in one or two sentences; `QUIET` if they show nothing."""
    fresh = _Fresh(recalled)
    promises = find_promises(recalled.owner, [*recalled.before, *recalled.recent], recalled.names)
    found = [*what_changed(recalled, promises), *what_is_ahead(recalled, promises)]
    found.sort(key=lambda f: -f.worth)
    chosen: list[Finding] = []
    for finding in found:
        if all(finding.kind != c.kind for c in chosen) and fresh(finding.text):
            chosen.append(finding)
    if all(f.kind == "changed" for f in chosen):
        openings = {_opening(f.text) for f in chosen}
        others = (f for f in found if f.kind == "changed" and _opening(f.text) not in openings)
        more = (f for f in others if f.worth >= WORTH_A_SECOND and fresh(f.text))
        chosen += islice(more, 1)
    if not chosen:
        chosen = time_spent(recalled)
    chosen.sort(key=lambda f: f.kind == "ahead")
    text = " ".join(f.text for f in chosen)
    return Insight(text or QUIET, tuple(sorted({n for f in chosen for n in f.evidence}))[-EVIDENCE:])


def _opening(text: str) -> str:
    """Return how a sentence begins: two that begin alike read as a list."""
    before, colon, _ = text.partition(": ")
    return before if colon else " ".join(text.split()[:3])


class _Fresh:
    """Memory of what reflections told: nothing is told twice in the same words, nor reworded in the latest of them."""

    def __init__(self, recalled: Recalled) -> None:
        told = [split_sentences(e.text) for e in recalled.before if e.type == "reflection"]
        self._ever = {normal(sentence) for sentences in told for sentence in sentences}
        self._told = [set(stems(unplaced(sentence))) for sentences in told[-READ_AGAIN:] for sentence in sentences]

    def __call__(self, text: str) -> bool:
        words = set(stems(unplaced(text)))
        if not words or all(normal(sentence) in self._ever for sentence in split_sentences(text)):
            return False
        if any(len(words & other) >= 0.6 * min(len(words), len(other)) for other in self._told if other):
            return False
        self._told.append(words)
        return True

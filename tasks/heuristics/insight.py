"""An insight without a model: one or two sentences on what the last hours or days show, with the entries that show it.

The first says what changed: a promise kept or broken, what happened or was heard, with whom things got better or
worse, who is new, what of the plan came true. The second says what is coming, or what is still owed; where there is
neither, what else changed. Both are told in the first person, and nothing that the latest reflections told already.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from memory.language.endings import joined
from memory.language.languages import ENGLISH, is_english
from memory.language.sentences import split_sentences
from memory.language.text import normal, stems
from memory.language.truncation import first_words
from tasks.heuristics.ahead import what_is_ahead
from tasks.heuristics.changed import time_spent, what_changed
from tasks.heuristics.promises import find_promises
from tasks.heuristics.quoted import quoted, retells
from tasks.heuristics.recalled import Finding, Recalled, unplaced
from tasks.heuristics.spoken import Phrases, quiet_reflections

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
    english, in_english = _what_is_english(recalled), recalled.language == ENGLISH
    promises = find_promises(english.owner, [*english.before, *english.recent], english.names)
    found = (
        [*what_changed(english, promises), *what_is_ahead(english, promises)] if english.recent or in_english else []
    )
    found += quoted(recalled)
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
    if not chosen and in_english:
        chosen = time_spent(recalled)
    chosen.sort(key=lambda f: f.kind == "ahead")
    text = joined(f.text for f in chosen)
    return Insight(text or quiet(recalled.language), tuple(sorted({n for f in chosen for n in f.evidence}))[-EVIDENCE:])


def quiet(language: str) -> str:
    """Return a reflection on a time without events."""
    return QUIET if language == ENGLISH else Phrases(language).quiet


def is_quiet(text: str) -> bool:
    """Return whether a reflection tells of a time without events, in any language."""
    return text == QUIET or text in quiet_reflections()


def _what_is_english(recalled: Recalled) -> Recalled:
    """Return the part of what is remembered that rules for English may retell."""
    if all(map(retells, recalled.recent)) and all(map(retells, recalled.before)):
        return recalled
    recent, before = ([e for e in entries if retells(e)] for entries in (recalled.recent, recalled.before))
    plan = [item for item in recalled.plan if is_english(item.description)]
    return replace(recalled, recent=recent, before=before, plan=plan)


def _opening(text: str) -> str:
    """Return how a sentence begins: two that begin alike read as a list."""
    before, colon, _ = text.partition(": ")
    return before if colon else first_words(text, 3)


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

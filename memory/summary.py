"""Summaries without a model: the sentences that say most in the fewest words, told in the third person.

Units are clauses of what was said or seen. A greedy choice covers weighted words under the limit, the standard
submodular approximation of extractive summarising (Lin and Bilmes, "A Class of Submodular Functions for Document
Summarization", ACL 2011). Names, numbers, places and dates weigh most in the style "facts", the words that a
conversation keeps coming back to in the style "gist".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from memory.persons import third_person
from memory.sentences import clean, split_clauses, split_sentences
from memory.text import FUNCTION_WORDS, stem, words

Style = Literal["facts", "gist"]


class Line(NamedTuple):
    """One line of what is summarised: who said it (empty: it was seen or told), what, and its game time."""

    speaker: str
    text: str
    minute: int


class _Unit(NamedTuple):
    text: str
    size: int  # words
    weights: dict[str, float]
    order: int


def summarise(lines: Sequence[Line], *, max_words: int, style: Style = "facts", header: str = "") -> str:
    """At most `max_words` words on what `lines` say, in sentences and in order of the lines.

    Speech becomes third person. `header` (who and when) opens the summary if there is room for it. The same lines
    give the same summary.
    """
    units = _units(lines, style)
    left = max_words - len(header.split())
    parts = [header.strip()] if header.strip() and left >= 0 else []
    if not parts:
        left = max_words
    chosen = _choose(units, left)
    parts += [unit.text for unit in chosen]
    return " ".join(parts)


def _units(lines: Sequence[Line], style: Style) -> list[_Unit]:
    speakers = sorted({line.speaker for line in lines if line.speaker})
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update({stem(w) for w in words(line.text) if w not in FUNCTION_WORDS})
    units: list[_Unit] = []
    for line in lines:
        others = [s for s in speakers if s != line.speaker]
        listener = others[0] if line.speaker and len(others) == 1 else ""
        for sentence in split_sentences(line.text):
            for clause in split_clauses(sentence):
                if clause.endswith("?"):
                    continue
                text = clean(clause, speakers)
                if line.speaker:
                    text = third_person(text, line.speaker, listener)
                text = re.sub(r"[!…]+$", ".", text)
                weights: dict[str, float] = {}
                for word in re.findall(r"[^\W_]+", text):
                    low = word.lower()
                    if low in FUNCTION_WORDS or word in speakers:
                        continue
                    key = stem(low)
                    weight = 1.0 + 0.3 * (counts[key] - 1)
                    if style == "facts" and (word[0].isupper() or any(c.isdigit() for c in word)):
                        weight += 3
                    weights[key] = max(weight, weights.get(key, 0))
                if weights:
                    units.append(_Unit(text, len(text.split()), weights, len(units)))
    return units


def _choose(units: list[_Unit], room: int) -> list[_Unit]:
    left, covered, chosen = list(units), set[str](), list[_Unit]()
    while True:
        best, best_value = None, 0.0
        for unit in left:
            if unit.size > room:
                continue
            value = sum(w for k, w in unit.weights.items() if k not in covered) / unit.size**0.7
            if value > best_value:
                best, best_value = unit, value
        if best is None:
            return sorted(chosen, key=lambda u: u.order)
        left.remove(best)
        chosen.append(best)
        covered |= set(best.weights)
        room -= best.size

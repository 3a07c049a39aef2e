"""Minutes of a short talk: quotes of each line, word for word and in order, without sentences that do not fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.port import is_courtesy, language_of
from cogitate.memory.language.sentences import QUESTIONS, joined
from cogitate.memory.language.short_names import with_short_names
from cogitate.memory.language.talk import Utterance
from cogitate.memory.language.word_count import count_words
from cogitate.memory.summaries.units import BREVITY, Weighing, first_sentences, readable

_SHORT = 1.5  # times the room: a longer talk is told by its clauses
_OPENING = 1  # lines
_GAP = "…"


class _Said(NamedTuple):
    """A sentence of a talk."""

    text: str
    line: int
    value: float


def is_short(lines: Sequence[Utterance], room: int) -> bool:
    """Return whether lines are a talk of one day with few enough words that most of it fits in `room` words."""
    is_talk = all(line.speaker and line.dated and not line.is_part for line in lines)
    return bool(lines) and is_talk and sum(count_words(line.text) for line in lines) <= _SHORT * room


def minutes_of(lines: Sequence[Utterance], room: int, language: str, head: str, short: Mapping[str, str]) -> str:
    """Return a heading and the minutes of a talk, in at most `room` words if possible.

    Courtesies are left out, except replies and answered questions. The least informative sentence is dropped first, an
    answer before its question.
    """
    lines = [readable(line) for line in lines]
    sentences = [first_sentences(line.text) for line in lines]
    weighing = Weighing(lines, sentences)
    said = [
        _Said(sentence, at, sum(weighing.of(sentence).values()) / max(1, count_words(sentence)) ** BREVITY)
        for at, said in enumerate(sentences)
        for sentence in said
    ]
    telling = [not is_courtesy(one.text, weighing.speakers) for one in said]
    told_lines = {one.line for one, tells in zip(said, telling, strict=True) if tells}
    left = [one for one, tells in zip(said, telling, strict=True) if tells or _matters(one, told_lines, language)]
    while left:
        told = _told(left, lines, sentences, language)
        text = with_short_names(joined(part for part in (head, *told) if part), short)
        if count_words(text) <= room:
            return text
        left.remove(min(left, key=lambda said: _worth(said, left)))
    return head


def _matters(said: _Said, told_lines: Collection[int], language: str) -> bool:
    """Return whether a courtesy replies to a line that is told, or is a question that the next line answers.

    A reply has several words ("Tell him no."), or agrees. A question that opens a talk is a greeting, unless it
    proposes something.
    """
    known = language_of(said.text, language)
    if not said.text.endswith(QUESTIONS):
        return said.line - 1 in told_lines and (len(said.text.split()) > 1 or known.accepts(said.text))
    return said.line + 1 in told_lines and (said.line >= _OPENING or known.proposes(said.text) != "")


def _worth(said: _Said, left: Sequence[_Said]) -> float:
    """Return the value of a sentence; a question is worth more than its answer."""
    at = left.index(said) + 1
    if said.text.endswith(QUESTIONS) and at < len(left) and left[at].line == said.line + 1:
        return max(said.value, left[at].value + 0.001)
    return said.value


def _told(
    left: Sequence[_Said], lines: Sequence[Utterance], sentences: Sequence[Sequence[str]], language: str
) -> list[str]:
    """Return a quotation of the kept sentences of each line, with an ellipsis for any dropped between them."""
    report = pack_of(language).speech.report
    told: list[str] = []
    for at, run in groupby(left, key=lambda said: said.line):
        kept, whole, parts = [said.text for said in run], sentences[at], list[str]()
        start = 0
        for text in kept:
            found = whole.index(text, start)
            parts += [_GAP, text] if parts and found > start else [text]
            start = found + 1
        told.append(report(joined(parts), lines[at].speaker, "", ""))
    return told

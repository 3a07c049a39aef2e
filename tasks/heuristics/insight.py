"""An insight without a model: what the last hours or days were about, with the entries that show it.

It tells the sentence that is nearest to the centre of the period and the one that is nearest to the centre of the rest,
quoted if they were said, and one typed finding: what became of a promise, what is coming, what was promised, what of
the plan was done. It claims nothing that no entry says, and tells nothing that the latest reflections told already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.language.courtesies import is_small_talk
from cogitate.memory.language.endings import QUESTIONS, joined
from cogitate.memory.language.languages import ENGLISH, is_english
from cogitate.memory.language.references import leans_on_others
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.speakers import Speakers
from cogitate.memory.language.text import normal, stems
from cogitate.memory.retrieval.scoring import rating
from cogitate.memory.summaries.conversations import is_header, parse_line
from cogitate.memory.summaries.statements import news_of
from cogitate.tasks.heuristics.findings import promises_of, typed_findings
from cogitate.tasks.heuristics.promises import MOST_QUOTED
from cogitate.tasks.heuristics.recalled import Finding, Recalled, tell
from cogitate.tasks.heuristics.spoken import Phrases, quiet_reflections
from cogitate.tasks.heuristics.themes import Sentence, most_central, word_weights

QUIET = "It's been a quiet period. Nothing particularly notable has happened."  # streams design, task 8
TRIVIAL = 1  # importance of what is not worth telling however often it happens
NOTABLE = 4  # importance from which something is told beside something else, or where fewer than three were observed
EVIDENCE = 20  # entries at most (streams design)
SHORT = 160  # characters: a memory that is told in one piece
READ_AGAIN = 4  # reflections of which nothing is told again
GRAVE = 7  # importance from which a sentence with one new word, such as another place or name, is told
_ALIKE = 0.6  # share of the words of two that both have


class Insight(NamedTuple):
    """A text and the numbers of the entries it rests on, ascending."""

    text: str
    evidence: tuple[int, ...]


def find_insight(recalled: Recalled, least: int = TRIVIAL + 1) -> Insight:
    """Return what the recent entries show, in one or two sentences; a quiet period if they show nothing.

    Args:
        least: the importance from which an entry may be told.
    """
    fresh, english = _Fresh(recalled), _what_is_english(recalled)
    promises = promises_of(english)
    over = {telling for promise in promises if promise.settled for telling in promise.tellings}
    sentences = list(_sentences(recalled, least, over))
    earlier = [set(stems_of(e.text)) for e in recalled.before if e.type in ("observation", "message")]
    weights = word_weights(sentences, recalled.repeats, earlier)
    chosen: list[Finding] = []
    shown: tuple[str, ...] = ()
    for enough in (0, NOTABLE):
        rest = [s for s in sentences if s.importance >= enough and not any(s.number in f.evidence for f in chosen)]
        central = next(_told(recalled, most_central(rest, weights, shown), fresh), None)
        if central is None:
            break
        chosen.append(central)
        shown = stems_of(central.text)
    for finding in typed_findings(english, promises):
        same = next((at for at, told in enumerate(chosen) if finding.text.endswith(told.text)), None)
        if same is not None:
            chosen[same] = finding  # it says the same, with its hour
        elif fresh(finding.text):
            chosen.append(finding)
            break
    text = joined(f.text for f in chosen)
    return Insight(text or quiet(recalled.language), tuple(sorted({n for f in chosen for n in f.evidence}))[-EVIDENCE:])


def quiet(language: str) -> str:
    """Return a reflection on a time without events."""
    return QUIET if language == ENGLISH else Phrases(language).quiet


def is_quiet(text: str) -> bool:
    """Return whether a reflection tells of a time without events, in any language."""
    return text == QUIET or text in quiet_reflections()


def _what_is_english(recalled: Recalled) -> Recalled:
    """Return the part of what is remembered to which rules for English apply."""
    recent, before = ([e for e in entries if is_english(e.text)] for entries in (recalled.recent, recalled.before))
    plan = [item for item in recalled.plan if is_english(item.description)]
    return replace(recalled, recent=recent, before=before, plan=plan)


def _told(recalled: Recalled, sentences: Sequence[Sentence], fresh: _Fresh) -> Iterator[Finding]:
    """Yield the sentences that no reflection told, as they are told: first those that stand alone and need no cut."""
    entries = {e.number: e for e in recalled.recent}
    leaning: list[Sentence] = []
    for first, sentence in chain(((True, s) for s in sentences), ((False, s) for s in leaning)):
        if first and not _stands(sentence.text):
            leaning.append(sentence)
            continue
        text = tell(recalled, entries[sentence.number], sentence.text)
        if fresh(text, sentence.importance):
            yield Finding(text, (sentence.number,))


def _stands(sentence: str) -> bool:
    """Return whether a sentence can be told alone and in full."""
    return len(sentence) <= MOST_QUOTED and not sentence.endswith(QUESTIONS) and not leans_on_others(sentence)


def _sentences(recalled: Recalled, least: int, over: Collection[tuple[int, str]]) -> Iterator[Sentence]:
    """Yield the sentences of the recent entries that may be told, in order of time.

    Args:
        over: entries' numbers, each with a sentence of it that gives a promise of which a later entry says more.
    """
    known = {normal(e.text) for e in recalled.before}
    entries = [e for e in recalled.recent if rating(e) >= least and normal(e.text) not in known]
    speakers = Speakers(recalled.of(s) for e in entries for s in e.subjects)
    for entry in sorted(entries, key=lambda e: (e.minute, e.number)):
        past = [said for number, said in over if number == entry.number] if over else []
        for sentence in _parts(recalled, entry, past):
            words = stems_of(sentence)
            if words and not is_header(sentence) and not (is_dialogue(entry) and is_small_talk(sentence, speakers)):
                yield Sentence(sentence, words, entry.number, rating(entry))


def _parts(recalled: Recalled, entry: Entry, past: Collection[str]) -> Sequence[str]:
    """Return what may be told of an entry: all of it if it is short, else each sentence but those that are `past`."""
    line = parse_line(entry, recalled.names)
    text = line.text if line.speaker else news_of(entry)
    if len(text) <= SHORT and entry.type == "observation" and not past:
        return [text.strip()]
    return [sentence for sentence in split_sentences(text) if sentence not in past]


@lru_cache(maxsize=16_384)  # an owner's memories are read again by each reflection
def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text, each once, in alphabetical order."""
    return tuple(sorted(set(stems(text))))


class _Fresh:
    """Memory of what reflections told: nothing is told twice in the same words, nor reworded in the latest of them.

    What is grave is told again unless one of their sentences has all its words.
    """

    def __init__(self, recalled: Recalled) -> None:
        told = [split_sentences(e.text) for e in recalled.before if e.type == "reflection"]
        self._ever = {normal(sentence) for sentences in told for sentence in sentences}
        self._told = [set(stems(sentence)) for sentences in told[-READ_AGAIN:] for sentence in sentences]

    def __call__(self, text: str, importance: float = 0.0) -> bool:
        words = set(stems(text))
        if not words or all(normal(sentence) in self._ever for sentence in split_sentences(text)):
            return False
        if importance >= GRAVE:
            sentences = [set(stems(sentence)) for sentence in split_sentences(text)]
            if all(any(sentence <= other for other in self._told) for sentence in sentences):
                return False
        elif any(len(words & other) >= _ALIKE * len(words | other) for other in self._told):
            return False
        self._told.append(words)
        return True

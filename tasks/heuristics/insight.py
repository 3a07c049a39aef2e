"""An insight without a model: what the last hours or days were about, with the entries that show it.

It tells the sentence that is nearest to the centre of the period, what stands out by its importance, what is nearest to
the centre of the rest, and one typed finding: what became of a promise, what is coming, what was promised. What was
said is quoted. It claims nothing that no entry says, and tells what the latest reflections told already only where
nothing else of the period matters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import chain
from math import sqrt
from typing import NamedTuple

from cogitate.memory.entry import Entry, is_dialogue
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.packs import pack_of, phrases_of
from cogitate.memory.language.port import is_courtesy, language_of, tells_trouble
from cogitate.memory.language.sentences import QUESTIONS, joined, split_sentences
from cogitate.memory.language.talk import Speakers
from cogitate.memory.language.text import normal, stems
from cogitate.memory.retrieval.scoring import ORDINARY, rating
from cogitate.tasks.heuristics.findings import is_past, promises_of, typed_findings
from cogitate.tasks.heuristics.pressing import is_answered
from cogitate.tasks.heuristics.promises import MOST_QUOTED
from cogitate.tasks.heuristics.reading import BY_TIME, sentences_of
from cogitate.tasks.heuristics.recalled import Finding, Recalled, tell
from cogitate.tasks.heuristics.themes import TRIVIAL, Sentence, centrality, most_central, ranking, read, word_weights

QUIET = "It's been a quiet period. Nothing particularly notable has happened."  # streams design, task 8
_NOTHING = "…"  # in a language of which no phrase is known
NOTABLE = 4  # importance from which something is told beside something else, or where fewer than three were observed
SEEN = 5  # importance from which what was seen is told beside something else; NOTABLE of what was said
EVIDENCE = 20  # entries at most (streams design)
MOST_CENTRAL = 3  # sentences beside the typed finding
READ_AGAIN = 4  # reflections of which nothing is told again
GRAVE = 7  # importance from which a sentence with one new word, such as another place or name, is told
_ALIKE = 0.8  # share of the words of the shorter of two sentences that both have
_OUTSTANDING = 2.0  # standard deviations of importance above the mean of a period


class Insight(NamedTuple):
    """A text and the numbers of the entries it rests on, ascending."""

    text: str
    evidence: tuple[int, ...]


def find_insight(recalled: Recalled, least: int = TRIVIAL + 1) -> Insight:
    """Return what the recent entries show, in one to four sentences; a quiet period if they show nothing.

    Args:
        least: the importance from which an entry may be told.
    """
    fresh = _Fresh(recalled)
    promises = promises_of(recalled)
    over = {telling for promise in promises if promise.settled for telling in promise.tellings}
    sentences = _sentences(recalled, least, over)
    earlier = (e.text for e in recalled.before if e.type in ("observation", "message"))
    weights = word_weights(sentences, recalled.repeats, earlier)
    ranked = ranking(sentences, weights)
    chosen: list[Finding] = []
    told: frozenset[str] = frozenset()
    half = 0.0  # of the centrality of the first
    notable = [*_notable(recalled, ranked)]
    outstanding = _outstanding(recalled.recent, notable)
    for candidates in (ranked, outstanding, notable, notable):
        if len(chosen) == MOST_CENTRAL:
            break
        enough = 0.0 if candidates is outstanding else half
        near = most_central(candidates, weights, told, enough)
        found = next(_told(recalled, near, fresh), None)
        if found is not None:
            sentence, text = found
            chosen.append(Finding(text, (sentence.number,)))
            told |= sentence.part.stems
            half = half or centrality(sentence, weights) / 2
    for finding in typed_findings(recalled, promises):
        same = next((at for at, other in enumerate(chosen) if finding.text.endswith(other.text)), None)
        if same is not None:
            chosen[same] = finding  # it says the same, with its hour
        elif fresh(finding.text, frozenset() if finding.is_outcome else frozenset(stems(finding.text))):
            chosen.append(finding)
            break
    if not chosen:  # what matters and recurs is told again: the period was not quiet
        recurring = sorted(_sentences(recalled, NOTABLE, over, again=True), key=lambda s: (-s.importance, -s.number))
        told_again = ((s, recalled.by_number[s.number]) for s in recurring)
        chosen = [
            Finding(tell(recalled, entry, s.part.text), (s.number,))
            for s, entry in told_again
            if entry.type != "summary" and not _is_courteous(recalled, entry, s.part.text)
        ][:1]
    text = joined(f.text for f in chosen)
    return Insight(text or quiet(recalled.language), tuple(sorted({n for f in chosen for n in f.evidence}))[-EVIDENCE:])


def quiet(language: str) -> str:
    """Return a reflection on a time without events."""
    return QUIET if language == ENGLISH else pack_of(language).phrase("quiet") or _NOTHING


def is_quiet(text: str) -> bool:
    """Return whether a reflection tells of a time without events, in any language."""
    return text in (QUIET, _NOTHING) or text in phrases_of("quiet")


def _notable(recalled: Recalled, ranked: Iterable[tuple[float, Sentence]]) -> Iterator[tuple[float, Sentence]]:
    """Yield the ranked sentences that may be told beside something else, where a question tells little."""
    for central, sentence in ranked:
        least = NOTABLE if is_dialogue(recalled.by_number[sentence.number]) else SEEN
        if sentence.importance >= least and not sentence.part.text.endswith(QUESTIONS):
            yield central, sentence


def _outstanding(recent: Sequence[Entry], notable: Iterable[tuple[float, Sentence]]) -> list[tuple[float, Sentence]]:
    """Return the notable sentences of the most important entries, if these stand out from the period."""
    ratings = [rating(e) for e in recent]
    if (most := max(ratings, default=0)) < GRAVE:
        return []
    mean = sum(ratings) / len(ratings)
    deviation = sqrt(sum(value * value for value in ratings) / len(ratings) - mean * mean)
    return [(c, s) for c, s in notable if s.importance == most] if most >= mean + _OUTSTANDING * deviation else []


def _told(recalled: Recalled, sentences: Iterable[Sentence], fresh: _Fresh) -> Iterator[tuple[Sentence, str]]:
    """Yield the sentences that were not told yet, each as it is told: first those that stand alone."""
    others: list[Sentence] = []

    def alone() -> Iterator[Sentence]:
        for sentence in sentences:
            if _stands(sentence.part.text):
                yield sentence
            else:
                others.append(sentence)

    for sentence in chain(alone(), others):
        entry, said = recalled.by_number[sentence.number], sentence.part.text
        if not _is_courteous(recalled, entry, said):
            text = tell(recalled, entry, said)
            if fresh(text, sentence.part.stems, sentence.importance):
                yield sentence, text


@lru_cache(maxsize=32_768)
def _stands(sentence: str) -> bool:
    """Return whether a sentence can be told alone and in full."""
    return (
        len(sentence) <= MOST_QUOTED
        and not sentence.endswith(QUESTIONS)
        and language_of(sentence).stands_alone(sentence)
    )


def _is_courteous(recalled: Recalled, entry: Entry, said: str) -> bool:
    """Return whether a sentence is mere courtesy to those who are named with it."""
    return is_dialogue(entry) and is_courtesy(said, Speakers(recalled.of(s) for s in entry.subjects))


def _sentences(
    recalled: Recalled, least: float, over: Collection[tuple[int, str]], *, again: bool = False
) -> list[Sentence]:
    """Return the sentences of the recent entries that may be told, in order of time.

    Args:
        over: entries' numbers, each with a sentence of it that gives a promise of which a later entry says more.
        again: what an earlier entry says in the same words is told as well.
    """
    told = recalled.told_by_number
    known = set() if again else {told[e.number].key for e in recalled.before}
    past: dict[int, list[str]] = {}
    for number, said in over:
        past.setdefault(number, []).append(said)
    found: list[Sentence] = []
    recent = sorted(recalled.recent, key=BY_TIME)
    for at, entry in enumerate(recent, 1):
        number, one = entry.number, told[entry.number]
        if (entry.importance or ORDINARY) < least or one.key in known:
            continue
        sentences = one.sentences
        if number in past:
            sentences = tuple(s for s in sentences_of(entry, recalled.names, False) if s.part.text not in past[number])
        found += (
            s
            for s in sentences
            if not is_past(recalled, entry, s.part.text)
            and not (is_dialogue(entry) and _is_settled(recalled, entry, s.part.text, recent[at:]))
        )
    return found


def _is_settled(recalled: Recalled, entry: Entry, sentence: str, later: Sequence[Entry]) -> bool:
    """Return whether what is said tells of trouble that later entries of the period answer."""
    return tells_trouble(sentence, recalled.language) and is_answered(
        sentence, entry.minute, later, recalled.name, recalled.names, recalled.language
    )


class _Fresh:
    """Memory of what reflections told: nothing is told twice in the same words, nor reworded in the latest of them.

    What is grave is told again unless one of their sentences has all its words.
    """

    def __init__(self, recalled: Recalled) -> None:
        told = [read(e.text).parts for e in recalled.before if e.type == "reflection"]
        self._ever = {normal(part.text) for parts in told for part in parts}
        self._told: list[Set[str]] = [part.stems for parts in told[-READ_AGAIN:] for part in parts]

    def __call__(self, text: str, words: Set[str], importance: float = 0.0) -> bool:
        """Return whether a text is not told yet, and take it as told.

        Args:
            words: the stems of what it tells; without them, only the same text is the same.
        """
        said = {normal(sentence) for sentence in split_sentences(text)}
        if said <= self._ever:
            return False
        if words and any(_are_alike(words, other, importance) for other in self._told):
            return False
        self._told.append(words)
        self._ever |= said
        return True


def _are_alike(words: Set[str], other: Set[str], importance: float) -> bool:
    """Return whether one of two sentences has most words of the other; of what is grave, all words of the first."""
    if importance >= GRAVE:
        return words <= other
    return len(words & other) >= _ALIKE * min(len(words), len(other)) > 0

"""An insight without a model: what the last hours or days were about, with the entries that show it.

It tells the sentence that is nearest to the centre of the period, what stands out by its importance, what is nearest to
the centre of the rest, and one typed finding: what became of a promise, what is coming, what was promised. What was
said is quoted. It claims nothing that no entry says, and tells what the latest reflections told already only where
nothing else of the period matters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import chain
from math import sqrt
from operator import mul
from typing import NamedTuple

from cogitate.memory.entry import ORDINARY, Entry, is_dialogue, rating
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.packs import pack_of, phrases_of
from cogitate.memory.language.port import is_courtesy, language_of, tells_trouble
from cogitate.memory.language.sentences import QUESTIONS, joined, split_sentences
from cogitate.memory.language.talk import Speakers
from cogitate.memory.language.text import normal, stems
from cogitate.memory.retrieval.terms import TERMS
from cogitate.tasks.heuristics.closing import is_closed, is_past
from cogitate.tasks.heuristics.deeds import is_deed, with_deeds_joined
from cogitate.tasks.heuristics.findings import promises_of, typed_findings
from cogitate.tasks.heuristics.period import read_theme, tellable
from cogitate.tasks.heuristics.pressing import are_of_one_matter, did, find_answer, subject_of
from cogitate.tasks.heuristics.promises import MOST_QUOTED
from cogitate.tasks.heuristics.reading import BY_TIME, TIMED
from cogitate.tasks.heuristics.recalled import Finding, Recalled, tell
from cogitate.tasks.heuristics.themes import TRIVIAL, Centre, Sentence, read

QUIET = "It's been a quiet period. Nothing particularly notable has happened."  # streams design, task 8
_NOTHING = "…"  # in a language of which no phrase is known
NOTABLE = 4  # importance from which something is told beside something else, or where fewer than three were observed
SEEN = 5  # importance from which what was seen is told beside something else; NOTABLE of what was said
EVIDENCE = 20  # entries at most (streams design)
MOST_CENTRAL = 3  # sentences beside the typed finding
READ_AGAIN = 4  # reflections of which nothing is told again
GRAVE = 7  # importance from which a sentence with one new word, such as another place or name, is told
_ALIKE = 0.8  # share of the words of the shorter of two sentences that both have
_IS = re.compile(r"(?:[^\s.,;:]+ ){1,6}(?:is |are |was \w+ing\b)")  # opens a note of a state
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
    over: dict[int, list[str]] = {}
    for number, said in (
        telling for promise in promises if is_closed(promise, recalled.minute) for telling in promise.tellings
    ):
        over.setdefault(number, []).append(said)
    sentences, weights = read_theme(recalled, least, over)
    whole, outstanding = Centre(sentences, weights), Centre(_outstanding(recalled.recent, sentences), weights)
    chosen: list[Finding] = []
    told: frozenset[str] = frozenset()
    half = 0.0  # of the centrality of the first
    for centre in (whole, outstanding, whole, whole):
        if len(chosen) == MOST_CENTRAL:
            break
        near = centre.nearest(told, 0.0 if centre is outstanding else half)
        notable = (pair for pair in near if not chosen or _is_notable(recalled, pair[1]))
        found = next(_told(recalled, notable, fresh, with_scenery=not chosen), None)
        if found is not None:
            nearness, sentence, text = found
            chosen.append(Finding(text, (sentence.number,)))
            told |= sentence.part.stems
            half = half or nearness / 2
    chosen += _ends(recalled, chosen, fresh)
    chosen.sort(key=lambda finding: recalled.by_number[finding.evidence[0]].minute)
    chosen = with_deeds_joined(recalled, chosen)
    for finding in typed_findings(recalled, promises):
        same = next((at for at, other in enumerate(chosen) if finding.text == other.text), None)
        if same is not None:
            chosen = [*chosen[:same], *chosen[same + 1 :], finding]  # with all entries that show it
        elif fresh(finding.text, frozenset() if finding.is_outcome else frozenset(stems(finding.text))):
            chosen.append(finding)
            break
    if not chosen:  # what matters and recurs is told again: the period was not quiet
        telling = (e for e in recalled.recent if rating(e) >= NOTABLE)
        recurring = [s for entry in telling for s in tellable(recalled, entry, over)]
        recurring.sort(key=lambda s: (-s.importance, -s.number))
        told_again = ((s, recalled.by_number[s.number]) for s in recurring)
        chosen = [
            Finding(tell(recalled, entry, s.part.text), (s.number,))
            for s, entry in told_again
            if entry.type != "summary"
            and not _is_courteous(recalled, entry, s.part.text)
            and not _is_stale(recalled, entry, s.part.text)
        ][:1]
    text = joined(f.text for f in chosen)
    return Insight(text or quiet(recalled.language), tuple(sorted({n for f in chosen for n in f.evidence}))[-EVIDENCE:])


def quiet(language: str) -> str:
    """Return a reflection on a time without events."""
    return QUIET if language == ENGLISH else pack_of(language).phrase("quiet") or _NOTHING


def is_quiet(text: str) -> bool:
    """Return whether a reflection tells of a time without events, in any language."""
    return text in (QUIET, _NOTHING) or text in phrases_of("quiet")


def _is_notable(recalled: Recalled, sentence: Sentence) -> bool:
    """Return whether a sentence may be told beside something else, where a question tells little."""
    least = NOTABLE if is_dialogue(recalled.by_number[sentence.number]) else SEEN
    return sentence.importance >= least and not sentence.part.text.endswith(QUESTIONS)


def _outstanding(recent: Sequence[Entry], sentences: Iterable[Sentence]) -> list[Sentence]:
    """Return the sentences of the most important entries, if these stand out from the period."""
    ratings = [e.importance or ORDINARY for e in recent]
    if (most := max(ratings, default=0)) < GRAVE:
        return []
    mean = sum(ratings) / len(ratings)
    deviation = sqrt(sum(map(mul, ratings, ratings)) / len(ratings) - mean * mean)
    return [s for s in sentences if s.importance == most] if most >= mean + _OUTSTANDING * deviation else []


def _told(
    recalled: Recalled, near: Iterable[tuple[float, Sentence]], fresh: _Fresh, with_scenery: bool
) -> Iterator[tuple[float, Sentence, str]]:
    """Yield the sentences that were not told yet, each as it is told: scenery and what does not stand alone last."""
    others: list[tuple[float, Sentence]] = []

    def alone() -> Iterator[tuple[float, Sentence]]:
        for nearness, sentence in near:
            is_scenery = _is_scenery(recalled, sentence)
            if _stands(sentence.part.text) and not is_scenery:
                yield nearness, sentence
            elif with_scenery or not is_scenery:
                others.append((nearness, sentence))

    for nearness, sentence in chain(alone(), others):
        entry, said = recalled.by_number[sentence.number], sentence.part.text
        if not _is_courteous(recalled, entry, said) and not _is_stale(recalled, entry, said):
            text = tell(recalled, entry, said)
            if fresh(text, sentence.part.stems, sentence.importance, is_deed=is_deed(recalled, entry, text)):
                yield nearness, sentence, text


@lru_cache(maxsize=32_768)
def _stands(sentence: str) -> bool:
    """Return whether a sentence can be told alone and in full."""
    return (
        len(sentence) <= MOST_QUOTED
        and not sentence.endswith(QUESTIONS)
        and language_of(sentence).stands_alone(sentence)
    )


def _is_scenery(recalled: Recalled, sentence: Sentence) -> bool:
    """Return whether a sentence only notes how a thing is, or what another is doing, when it was seen."""
    entry = recalled.by_number[sentence.number]
    if is_dialogue(entry) or sentence.importance >= GRAVE or not _IS.match(entry.text):
        return False
    opening = _IS.match(tell(recalled, entry, entry.text))  # no more of a note of a talk
    if opening is None or opening[0].startswith((recalled.name.partition(" ")[0], "I ")):
        return False
    return not tells_trouble(entry.text, recalled.language)


def _is_courteous(recalled: Recalled, entry: Entry, said: str) -> bool:
    """Return whether a sentence is mere courtesy to those who are named with it."""
    return is_dialogue(entry) and is_courtesy(said, Speakers(recalled.of(s) for s in entry.subjects))


def _is_stale(recalled: Recalled, entry: Entry, sentence: str) -> bool:
    """Return whether a sentence announces what is over, or tells of a need that later talk or the owner met."""
    timed = TIMED.of(recalled.entries, recalled.owner, recalled.names)
    if is_past(sentence, entry, timed, recalled.places, recalled.minute):
        return True
    if not is_dialogue(entry) or not tells_trouble(sentence, recalled.language):
        return False
    telling = (e for e in recalled.recent if is_dialogue(e) or did(e.text, recalled.name))
    later = (e for e in telling if BY_TIME(e) > BY_TIME(entry))
    aside = (recalled.name, *(place.name for place in recalled.places))
    return find_answer(entry, sentence, later, aside, recalled.names, recalled.language) is not None


def _ends(recalled: Recalled, chosen: Sequence[Finding], fresh: _Fresh) -> list[Finding]:
    """Return the last observations of the grave matters, troubles and things told of."""
    numbers = {n for finding in chosen for n in finding.evidence}
    worth = (e for e in recalled.recent if rating(e) >= NOTABLE or (rating(e) > TRIVIAL and not _IS.match(e.text)))
    seen = sorted((e for e in worth if not is_dialogue(e)), key=BY_TIME)
    ends: list[Finding] = []
    common = Counter(term for e in seen for term in TERMS.of(e.text))

    def is_end(entry: Entry, end: Entry, aside: Sequence[str]) -> bool:
        weighs = rating(end) >= SEEN or did(end.text, recalled.name)
        if are_of_one_matter(entry.text, end.text, aside, is_loose=weighs):
            return True
        named = TERMS.of(" ".join(aside)).keys()
        shared = TERMS.of(entry.text).keys() & TERMS.of(end.text).keys() - named
        return weighs and any(common[term] == 2 for term in shared)

    for entry in [recalled.by_number[n] for n in sorted(numbers)]:
        later = seen[bisect_right(seen, BY_TIME(entry), key=BY_TIME) :]
        if is_dialogue(entry) or not later:
            continue
        subject = subject_of(entry.text)
        is_grave = rating(entry) >= GRAVE or tells_trouble(entry.text, recalled.language)
        is_thing = subject != "" and not did(entry.text, recalled.name)
        aside = [name for name in (recalled.name, *recalled.names.values()) if name in entry.text]
        about = (
            e for e in later if (is_thing and subject_of(e.text) == subject) or (is_grave and is_end(entry, e, aside))
        )
        *_, end = (None, *about)
        if end is None or end.number in numbers:
            continue
        before, said = (recalled.told_by_number[e.number].sentences for e in (entry, end))
        if not said or (before and _unnumbered(before[0]) == _unnumbered(said[0])):
            continue  # it was seen again
        if fresh(text := tell(recalled, end, said[0].part.text), said[0].part.stems, GRAVE):
            ends.append(Finding(text, (end.number,)))
            numbers.add(end.number)
    return ends


def _unnumbered(sentence: Sentence) -> Set[str]:
    return {word for word in sentence.part.stems if not word.isdigit()}


class _Fresh:
    """Memory of what reflections told: nothing is told twice in the same words, nor reworded in the latest of them.

    What is grave is told again unless one of their sentences has all its words.
    """

    def __init__(self, recalled: Recalled) -> None:
        told = [read(e.text).parts for e in recalled.before if e.type == "reflection"]
        self._ever = {normal(part.text) for parts in told for part in parts}
        self._wholes = [part.stems for parts in told for part in parts]
        self._told: list[Set[str]] = [part.stems for parts in told[-READ_AGAIN:] for part in parts]

    def __call__(self, text: str, words: Set[str], importance: float = 0.0, *, is_deed: bool = False) -> bool:
        """Return whether a text is not told yet, and take it as told.

        Args:
            words: the stems of what it tells; without them, only the same text is the same.
            is_deed: it may have been told as a part of a sentence.
        """
        if is_deed and any(words <= whole for whole in self._wholes):
            return False
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

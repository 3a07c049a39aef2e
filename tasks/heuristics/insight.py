"""An insight without a model: what the last hours or days were about, with the entries that show it.

It reports the sentences nearest to the centre of the period, the one that stands out by its importance, the outcome of
grave matters, and one typed finding: the outcome of a promise, an appointment, or a given promise. It quotes speech,
claims nothing beyond its entries, and repeats an earlier reflection only if nothing else of the period matters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from itertools import chain, islice
from math import inf, sqrt
from operator import itemgetter, mul
from statistics import fmean
from typing import NamedTuple

from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.entry import ORDINARY, Entry, is_dialogue, rating
from cogitate.memory.language.entities import is_number
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.packs import pack_of, phrases_of
from cogitate.memory.language.port import language_of, tells_trouble
from cogitate.memory.language.sentences import QUESTIONS, joined, split_sentences
from cogitate.memory.language.short_names import with_full_names, with_short_names
from cogitate.memory.language.text import normal, stems
from cogitate.memory.language.text import words as words_in
from cogitate.memory.language.times import find_times
from cogitate.memory.retrieval.terms import TERMS
from cogitate.memory.summaries.conversations import GAP
from cogitate.tasks.heuristics.closing import is_closed, is_past
from cogitate.tasks.heuristics.findings import promises_of, typed_findings
from cogitate.tasks.heuristics.plans.dated_lines import mentions_in
from cogitate.tasks.heuristics.pressing import IMPORTANT, are_of_one_matter
from cogitate.tasks.heuristics.reading import BY_TIME, TIMED, sentences_of
from cogitate.tasks.heuristics.recalled import Finding, Recalled, tell
from cogitate.tasks.heuristics.themes import TRIVIAL, Sentence, nearness, parts_of, weights_of

QUIET = "It's been a quiet period. Nothing particularly notable has happened."  # streams design, task 8
_NOTHING = "…"  # in a language without a phrase for it
NOTABLE = 4  # least importance to be told beside another finding, with few observations, or a second time
EVIDENCE = 20  # entries at most (streams design)
MOST_CENTRAL = 3  # sentences beside the typed finding
OUTSTANDING = 2  # standard deviations of importance above the mean of a period
_SUBJECT = 3  # most words of a subject before the verb of a state
_SEEN, _NOTABLE, _REMARK = range(3)  # ranks
READ_AGAIN = 4  # latest reflections, whose content an insight does not repeat
Over = Mapping[int, Collection[str]]  # sentences about closed promises, by entry number


class Insight(NamedTuple):
    """A text and the numbers of the entries it rests on, ascending."""

    text: str
    evidence: tuple[int, ...]


def find_insight(recalled: Recalled, least: int = TRIVIAL + 1) -> Insight:
    """Return what the recent entries show, in one to four sentences; a quiet period if they show nothing.

    Args:
        least: least importance of an entry that may be told.
    """
    fresh = _Fresh(recalled)
    promises = promises_of(recalled)
    over: dict[int, list[str]] = {}
    for number, said in (
        telling for promise in promises if is_closed(promise, recalled.minute) for telling in promise.tellings
    ):
        over.setdefault(number, []).append(said)
    chosen = _central(recalled, least, over, fresh)
    chosen += _outcomes(recalled, chosen, fresh)
    chosen.sort(key=lambda finding: recalled.by_number[finding.evidence[0]].minute)
    for finding in typed_findings(recalled, promises):
        same = next((at for at, other in enumerate(chosen) if {*other.evidence} <= {*finding.evidence}), None)
        if same is not None:
            chosen = [*chosen[:same], *chosen[same + 1 :], finding]  # with all entries that show it
        elif fresh(finding.text, frozenset() if finding.is_outcome else frozenset(stems(finding.text))):
            chosen.append(finding)
            break
    if not chosen:  # repeat a notable finding: the period was not quiet
        chosen = _recurring(recalled, over)[:1]
    text = _joined(recalled, chosen)
    return Insight(text or quiet(recalled.language), tuple(sorted({n for f in chosen for n in f.evidence}))[-EVIDENCE:])


def _joined(recalled: Recalled, chosen: Iterable[Finding]) -> str:
    """Return findings as one text. Beside a quotation, names that occurred before are shortened; notes are not."""
    text = ""
    for finding in chosen:
        said = finding.text
        if is_dialogue(recalled.by_number[finding.evidence[-1]]):
            said = with_short_names(said, recalled.short, {name for name in recalled.short if name in text})
        text = joined((text, said)) if text else said
    return text


def weigh_ahead(entry: Entry, sentences: Iterable[Sentence], around: str) -> None:
    """Fill a reflection's caches with the sentences of an entry, in idle time.

    Args:
        around: the language of the world.
    """
    for sentence in sentences:
        said = sentence.part.text
        if not is_dialogue(entry):
            _is_state(said)
        else:
            _is_telling(said, around)
            mentions_in(said, entry.minute, clock_in_force())


def quiet(language: str) -> str:
    """Return the reflection on a period without events."""
    return QUIET if language == ENGLISH else pack_of(language).phrase("quiet") or _NOTHING


def is_quiet(text: str) -> bool:
    """Return whether a reflection is the one on a period without events, in any language."""
    return text in (QUIET, _NOTHING) or text in phrases_of("quiet")


def _central(recalled: Recalled, least: int, over: Over, fresh: _Fresh) -> list[Finding]:
    """Return the sentences nearest to the centre of a period, and the one that stands out by its importance.

    It tells one sentence of each talk: one that names a figure or a time, proposes something, tells of trouble or
    shares half of its words with other entries. It tells a remark only if it tells nothing else. Sentences that do not
    stand alone come last. Each but the first is at least half as near as the first, is no question, and shares at most
    two thirds of its words with those before. Repeats of earlier entries do not count.
    """
    known = {recalled.told_by_number[e.number].key for e in recalled.before}
    new = [e for e in recalled.recent if rating(e) >= least and recalled.told_by_number[e.number].key not in known]
    by_entry = [_tellable(recalled, entry, over) for entry in new]
    sentences = [*chain.from_iterable(by_entry)]
    earlier = (e.text for e in recalled.before if e.type in ("observation", "message"))
    weights = weights_of(sentences, recalled.repeats, earlier)
    ranks = _Ranks(recalled, by_entry)
    most = _outstanding(recalled.recent)
    near = _by_nearness(sentences, ranks, weights)
    foremost = _by_nearness([s for s in sentences if s.importance >= most], ranks, weights)
    chosen: list[Finding] = []
    told: set[str] = set()
    half = 0.0
    for rank, nearness_of, sentence in chain(islice(near, 1), islice(foremost, 1), near):
        entry, said, words = recalled.by_number[sentence.number], sentence.part.text, sentence.part.stems
        if len(chosen) == MOST_CENTRAL or (chosen and rank == _REMARK):
            break
        is_near = nearness_of >= half or sentence.importance >= most
        is_new = 3 * len(words - told) >= len(words) and not said.endswith(QUESTIONS)
        if (chosen and not (is_near and is_new)) or _is_over(recalled, entry, said):
            continue
        if is_dialogue(entry) and any(_are_of_one_talk(entry, recalled.by_number[one.evidence[0]]) for one in chosen):
            continue
        if fresh(text := tell(recalled, entry, said), words):
            chosen.append(Finding(text, (sentence.number,)))
            told |= words
            half = half or nearness_of / 2
    return chosen


def _by_nearness(
    sentences: Iterable[Sentence], ranks: _Ranks, weights: Mapping[str, float]
) -> Iterator[tuple[int, float, Sentence]]:
    """Yield sentences with their rank and nearness: by rank, then those that stand alone first, then the nearest."""
    groups = defaultdict[tuple[int, bool], list[Sentence]](list)
    for sentence in sentences:
        groups[ranks.of(sentence), not sentence.part.stands].append(sentence)
    for (rank, _), group in sorted(groups.items(), key=itemgetter(0)):
        near = [(nearness(sentence, weights), sentence) for sentence in group]
        near.sort(key=lambda pair: (-pair[0], pair[1].number))
        yield from ((rank, nearness_of, sentence) for nearness_of, sentence in near)


class _Ranks:
    """The order in which the sentences of a period are told.

    Ordinary events come first if the period has talk and no notable observation; then notable sentences; last,
    ordinary states and remarks.
    """

    def __init__(self, recalled: Recalled, by_entry: Sequence[Sequence[Sentence]]) -> None:
        self._recalled = recalled
        self._by_entry = by_entry
        seen = [rating(entry) for entry in recalled.recent if not is_dialogue(entry)]
        self._is_eventful = len(seen) == len(recalled.recent) or max(seen, default=0) >= NOTABLE

    @cached_property
    def _entries_with(self) -> Mapping[str, int]:
        """Return the number of entries with each word."""
        return Counter(chain.from_iterable({word for s in found for word in s.part.stems} for found in self._by_entry))

    def of(self, sentence: Sentence) -> int:
        """Return the rank of a sentence, 0 for the first."""
        said, stemmed = sentence.part.text, sentence.part.stems
        is_notable = sentence.importance >= NOTABLE
        if is_dialogue(self._recalled.by_number[sentence.number]):
            is_told = is_notable and (_is_telling(said, self._recalled.language) or self._recurs(stemmed))
            return _NOTABLE if is_told else _REMARK
        if is_notable:
            return _NOTABLE
        return _SEEN if not self._is_eventful and sentence.importance >= ORDINARY and not _is_state(said) else _REMARK

    def _recurs(self, words: Collection[str]) -> bool:
        """Return whether half of these words are in several entries."""
        return 2 * sum(self._entries_with[word] > 1 for word in words) >= len(words)


@lru_cache(maxsize=65_536)
def _is_state(noted: str) -> bool:
    """Return whether a note tells of a state or an ongoing activity: "The shelf is empty", "Ada is baking"."""
    said, known = noted.split(), language_of(noted)
    return any(known.tells_state(" ".join(said[at:])) for at in range(1, _SUBJECT + 1))


@lru_cache(maxsize=65_536)
def _is_telling(said: str, around: str) -> bool:
    """Return whether a remark names a figure or a time, proposes something, or tells of trouble."""
    known = language_of(said, around)
    if any(map(is_number, words_in(said))) or find_times(said) or tells_trouble(said, around):
        return True
    return known.proposes(said) != ""


def _are_of_one_talk(line: Entry, other: Entry) -> bool:
    return is_dialogue(other) and {*line.subjects} == {*other.subjects} and abs(line.minute - other.minute) < GAP


def _outstanding(recent: Sequence[Entry]) -> float:
    """Return the importance from which an entry stands out from a period; infinity if none does."""
    ratings = [rating(entry) for entry in recent]
    most = max(ratings, default=0)
    if most < IMPORTANT:
        return inf
    mean = fmean(ratings)
    deviation = sqrt(fmean(map(mul, ratings, ratings)) - mean * mean)
    return most if most >= mean + OUTSTANDING * deviation else inf


def _outcomes(recalled: Recalled, chosen: Iterable[Finding], fresh: _Fresh) -> list[Finding]:
    """Return the last observation of each chosen matter that is grave or means trouble.

    Observations are also about one matter if they alone in the period share a word other than a name.
    """
    matters = [recalled.by_number[finding.evidence[0]] for finding in chosen]
    matters = [e for e in matters if not is_dialogue(e) and _is_grave(e, recalled.language)]
    if not matters:
        return []
    seen = sorted((e for e in recalled.recent if not is_dialogue(e) and rating(e) >= NOTABLE), key=BY_TIME)
    counts = Counter(chain.from_iterable(TERMS.of(entry.text) for entry in seen))
    outcomes: list[Finding] = []
    for entry in matters:
        named = [name for name in recalled.names.values() if name in entry.text]
        words = TERMS.of(entry.text).keys() - set().union(*map(TERMS.of, named))
        rare = {word for word in words if counts[word] == 2}
        for end in reversed(seen[bisect_right(seen, BY_TIME(entry), key=BY_TIME) :]):
            shares_word = not rare.isdisjoint(TERMS.of(end.text))
            if shares_word or are_of_one_matter(entry.text, end.text, named):
                for sentence in recalled.told_by_number[end.number].sentences[:1]:
                    text = tell(recalled, end, sentence.part.text)
                    if fresh(text, sentence.part.stems):
                        outcomes.append(Finding(text, (end.number,)))
                break
    return outcomes


def _is_grave(entry: Entry, language: str) -> bool:
    return rating(entry) >= IMPORTANT or tells_trouble(entry.text, language)


def _tellable(recalled: Recalled, entry: Entry, over: Over) -> Sequence[Sentence]:
    """Return the sentences of an entry that may be told."""
    one = recalled.told_by_number[entry.number]
    if entry.number not in over:
        return one.sentences
    return [s for s in sentences_of(entry, one.line, False) if s.part.text not in over[entry.number]]


def _recurring(recalled: Recalled, over: Over) -> list[Finding]:
    """Return all notable findings, the most important and newest first, even those told before."""
    telling = (e for e in recalled.recent if rating(e) >= NOTABLE and e.type != "summary")
    found = [(s, entry) for entry in telling for s in _tellable(recalled, entry, over)]
    found.sort(key=lambda pair: (-pair[0].importance, -pair[0].number))
    return [
        Finding(tell(recalled, entry, s.part.text), (s.number,))
        for s, entry in found
        if not _is_over(recalled, entry, s.part.text)
    ]


def _is_over(recalled: Recalled, entry: Entry, sentence: str) -> bool:
    """Return whether a sentence announces something past, cancelled or moved, as the owner's plans see it."""
    timed = TIMED.of(recalled.entries, recalled.owner, recalled.names)
    if is_past(sentence, entry, timed, recalled.places, recalled.minute):
        return True
    for said in mentions_in(sentence, entry.minute, clock_in_force()) if is_dialogue(entry) else ():
        day = day_of(entry.minute) if said.day is None else said.day
        due = day * DAY + (said.time or 0)
        if said.time is not None and due > entry.minute:
            agreed = [a.minute for a in recalled.agreed if _are_of_one_talk(entry, recalled.by_number[a.number])]
            return due <= recalled.minute or (bool(agreed) and due not in agreed)
    return False


class _Fresh:
    """A filter against repetition: never an earlier sentence again, and soon after no subset of its words."""

    def __init__(self, recalled: Recalled) -> None:
        earlier = (e.text for e in recalled.before if e.type == "reflection")
        told = [parts_of(with_full_names(text, recalled.short)) for text in earlier]
        self._ever = {normal(part.text) for parts in told for part in parts}
        self._lately: list[Set[str]] = [part.stems for parts in told[-READ_AGAIN:] for part in parts]

    def __call__(self, text: str, words: Set[str]) -> bool:
        """Return whether a text is new, and remember it.

        Args:
            words: its stems; if empty, only an identical text is a repeat.
        """
        said = {normal(sentence) for sentence in split_sentences(text)}
        if said <= self._ever or (words and any(words <= other for other in self._lately)):
            return False
        self._lately.append(words)
        self._ever |= said
        return True

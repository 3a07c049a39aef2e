"""The sentences that a reflection may tell of its period, and the weights of their words, kept up as entries come."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.entry import Entry, rating
from cogitate.memory.language.packs import forget_with_packs
from cogitate.tasks.heuristics.reading import Told, sentences_of
from cogitate.tasks.heuristics.recalled import Recalled
from cogitate.tasks.heuristics.themes import TRIVIAL, Sentence, Words

Over = Mapping[int, Collection[str]]  # sentences that are told no more, by the numbers of their entries


class _Period(NamedTuple):
    """What was read of an owner's entries since its last reflection."""

    names: Mapping[str, str]
    before: list[Entry]
    known: frozenset[str]  # what those before say
    recent: list[Entry]
    sentences: list[Sentence]
    words: Words

    def add(self, entries: Iterable[Entry], told: Mapping[int, Told]) -> None:
        """Read entries that came since."""
        for entry in entries:
            one = told[entry.number]
            self.recent.append(entry)
            if rating(entry) > TRIVIAL and one.key not in self.known:
                self.sentences.extend(one.sentences)
                self.words.add(one.sentences)


@lru_cache(maxsize=2_048)  # owners: some 80 MB
def _kept(owner: str) -> list[_Period]:
    """Return the slot that holds an owner's period while no reflection uses it."""
    return []


forget_with_packs(_kept.cache_clear)


def _taken(
    owner: str, names: Mapping[str, str], before: Sequence[Entry], recent: Sequence[Entry], told: Mapping[int, Told]
) -> _Period:
    """Return a period, of which only what came since the last time is read."""
    kept = _kept(owner)
    one = kept.pop() if kept else None
    if one is None or one.names is not names or one.before != before or one.recent != recent[: len(one.recent)]:
        one = _Period(names, [*before], frozenset(told[e.number].key for e in before), [], [], Words())
    one.add(recent[len(one.recent) :], told)
    return one


def read_period(
    owner: str, names: Mapping[str, str], entries: Sequence[Entry], told: Mapping[int, Told], since: int
) -> None:
    """Read the entries after the last one that an owner's latest reflection read, whose number is `since`."""
    recent = [e for e in entries if e.number > since and e.type in ("observation", "message")]
    new = {e.number for e in recent}
    _kept(owner)[:] = [_taken(owner, names, [e for e in entries if e.number not in new], recent, told)]


def tellable(recalled: Recalled, entry: Entry, over: Over) -> Iterable[Sentence]:
    """Return the sentences of an entry that may be told."""
    one = recalled.told_by_number[entry.number]
    if entry.number not in over:
        return one.sentences
    return [s for s in sentences_of(entry, one.line, False) if s.part.text not in over[entry.number]]


def read_theme(recalled: Recalled, least: int, over: Over) -> tuple[list[Sentence], Mapping[str, float]]:
    """Return the sentences of a period that may be told, without what earlier entries say, and the weights of words.

    Args:
        least: importance of what may be told.
    """
    before, owner, names = recalled.before, recalled.owner, recalled.names
    period = _taken(owner, names, before, recalled.recent, recalled.told_by_number)
    sentences, words, repeats = period.sentences, period.words, recalled.repeats
    if least > TRIVIAL + 1 or over:
        left_out = [s for s in sentences if s.importance < least or s.number in over]
        again = {s.number: recalled.by_number[s.number] for s in left_out if s.importance >= least}
        instead = [s for entry in again.values() for s in tellable(recalled, entry, over)]
        sentences = [*(s for s in sentences if s.importance >= least and s.number not in over), *instead]
        words = Words()
        words.add(sentences)
    repeated = [(s, repeats[s.number]) for s in sentences if s.number in repeats] if repeats else ()
    weights = words.weights(repeated, (e.text for e in before if e.type in ("observation", "message")))
    _kept(owner)[:] = [period]
    return [*sentences], weights

"""Promises among memories: who promised what to whom, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, islice
from operator import attrgetter
from typing import Literal, NamedTuple

from cogitate.memory.clock import clock_in_force, date
from cogitate.memory.entry import Entry, resolve_name
from cogitate.memory.language.commitments import Vow, are_alike
from cogitate.memory.language.packs import forget_with_packs
from cogitate.memory.language.port import language_of
from cogitate.memory.language.quotations import quotations_in
from cogitate.memory.language.sentences import QUESTIONS, split_sentences
from cogitate.memory.language.text import stems
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.retrieval.text_cache import TextCache
from cogitate.memory.summaries.conversations import GAP, parse_line, quoted_speaker

MOST_QUOTED = 240  # characters of a sentence that is quoted
KEEP = "Keep the promise"  # opens an item of a plan
_LABEL = re.compile(r"\s?[:：]")  # after the name of who speaks


#: What a memory tells of a promise; "settled": it does not say whether it was kept.
PromiseState = Literal["open", "kept", "broken", "settled"]


@dataclass(frozen=True)
class Promise:
    """A promise to another, in the words in which it was given or told of."""

    giver: str  # id of an owner; a name if no entry identifies it
    taker: str  # likewise; "" if the memory does not say, or names several
    said: str  # the sentence, as the entry has it or quotes it
    deed: str  # the part of it that tells what is promised
    minute: int
    evidence: tuple[int, ...]
    spoken: bool = False  # the giver said so itself; otherwise the memory tells of it
    settled: bool = False
    settled_by: str = ""  # the sentence that tells its outcome
    tellings: tuple[tuple[int, str], ...] = ()  # every sentence that gives or tells of it, with its entry's number

    @property
    def words(self) -> frozenset[str]:
        """Return the stems of the deed, without the day and the hour at which it is due."""
        return language_of(self.said).deed_words(self.deed)

    @property
    def state(self) -> PromiseState:
        """Return the outcome, by the words of the sentence that tells it."""
        return (language_of(self.settled_by).outcome(self.settled_by) or "settled") if self.settled else "open"

    @property
    def reminder(self) -> str:
        """Return the deed in the words of the memory, with the date of a promise that says "tomorrow" or the like."""
        dated = anchor_days(self.deed, self.minute)
        if not self.spoken:
            return dated.strip(" .!,;:")
        day = f" ({date(self.minute)})" if dated != self.deed else ""
        return f'"{shorten(self.said, MOST_QUOTED)}"{day}'


def is_same_promise(one: Promise, other: Promise) -> bool:
    """Return whether two memories tell of the same promise."""
    return (
        one.giver == other.giver
        and (one.taker == other.taker or "" in (one.taker, other.taker))
        and are_alike(one.words, hint_of(other.deed).stems)
    )


class _Hint(NamedTuple):
    """Cheap signs of whether a text may tell what came of a promise."""

    is_outcome: bool
    stems: frozenset[str]


def _hint(text: str) -> _Hint:
    return _Hint(language_of(text).tells_outcome(text) != "", frozenset(stems(text)))


#: An owner's memories are read again by each plan and reflection. Items: three for a text; some 30 MB.
hint_of = TextCache(_hint, most=200_000).of


def find_promises(owner: str, entries: Sequence[Entry], names: Mapping[str, str]) -> list[Promise]:
    """Return the promises in an owner's memories, by any giver, in the order in which they were given.

    A promise that is repeated to the same taker, or told of again, counts once. Each call reads only the entries that
    are new since the last call.
    """
    people, kept = _People(owner, entries, names), _kept(owner)
    if kept and kept[0].names is names and kept[0].given == entries:
        return [*kept[0].found]
    ordered = sorted(entries, key=attrgetter("minute", "number"))
    known = next((one for one in kept if one.holds(ordered, people)), _Known([], [], names, {}, ()))
    found, open_ = [*known.found], _Open()
    for at, promise in enumerate(found):
        if not promise.settled:
            open_.add(at, promise.words)
    for entry in islice(ordered, len(known.entries), None):
        if entry.type in ("plan", "reflection"):
            continue
        made = list(_made(entry, people)) if language_of(entry.text).may_vow(entry.text) else ()
        if not made and open_.words:  # an entry that makes or repeats a promise settles none
            _settle(owner, entry, names, found, open_)
        for promise in made:
            first = next((one for one in open_.words if is_same_promise(promise, found[one])), None)
            if first is None:
                open_.add(len(found), promise.words)
                found.append(promise)
            else:
                found[first] = replace(found[first], tellings=(*found[first].tellings, *promise.tellings))
    kept[:] = [_Known([*entries], ordered, names, people.meant, tuple(found))]
    return found


class _People:
    """The owners that an owner's entries name."""

    def __init__(self, owner: str, entries: Sequence[Entry], names: Mapping[str, str]) -> None:
        self.owner = owner
        self.names = names
        self.meant: dict[str, str] = {}  # by the names that were looked up; an unknown one stands for itself
        self._entries = entries

    @cached_property
    def _ids(self) -> dict[str, str]:
        subjects = dict.fromkeys(chain.from_iterable(e.subjects for e in self._entries))
        return {resolve_name(s, self.names): s for s in (*subjects, self.owner)}

    def labels(self, sentence: str) -> str:
        """Return the speaker whom a sentence quotes, or the name before its colon, if known; else ""."""
        name = quoted_speaker(sentence) or (_LABEL.split(sentence, maxsplit=1)[0] if _LABEL.search(sentence) else "")
        return name if name in self._ids or name in self.names.values() else ""

    def called(self, name: str) -> str:
        """Return the owner with a name."""
        owner = self.meant[name] = self._ids.get(name, name)
        return owner


class _Known(NamedTuple):
    """The promises in the first entries of an owner, in order of time."""

    given: list[Entry]  # as they were given
    entries: list[Entry]
    names: Mapping[str, str]
    meant: Mapping[str, str]
    found: tuple[Promise, ...]

    def holds(self, entries: Sequence[Entry], people: _People) -> bool:
        """Return whether entries begin with these, and mean the same people."""
        return (
            self.names is people.names
            and entries[: len(self.entries)] == self.entries
            and (len(entries) == len(self.entries) or all(people.called(n) == owner for n, owner in self.meant.items()))
        )


@lru_cache(maxsize=4_096)  # owners: some 20 MB
def _kept(owner: str) -> list[_Known]:
    """Return the mutable list that keeps the promises last found for an owner."""
    return []


forget_with_packs(_kept.cache_clear)


class _Open:
    """The open promises, by their indices and by their words."""

    def __init__(self) -> None:
        self.words: dict[int, frozenset[str]] = {}  # in the order in which they were given
        self._with: dict[str, list[int]] = {}

    def add(self, at: int, words: frozenset[str]) -> None:
        self.words[at] = words
        for word in words:
            self._with.setdefault(word, []).append(at)

    def close(self, at: int) -> None:
        for word in self.words.pop(at):
            self._with[word].remove(at)

    def alike(self, said: frozenset[str]) -> Collection[int]:
        """Return the indices of promises whose deed a text with these stems may be about."""
        if self._with.keys().isdisjoint(said):
            return ()
        near = {at for word in said for at in self._with.get(word, ())}
        return [at for at in near if are_alike(self.words[at], said)]


def _made(entry: Entry, people: _People) -> Iterable[Promise]:
    line = parse_line(entry, people.names)
    language = language_of(line.text)
    for sentence in split_sentences(line.text):
        label = "" if line.speaker else people.labels(sentence)  # in a summary, the one whose words follow
        speaker = line.speaker or label
        quoted = [said for quote in quotations_in(sentence) for said in split_sentences(quote)] if label else []
        for said in quoted or [sentence]:
            vow = None if said.endswith(QUESTIONS) else language.vow(said, bool(speaker))
            if vow is not None and (promise := _promise(entry, speaker, said, vow, people)):
                yield replace(promise, tellings=((entry.number, sentence),))


def _promise(entry: Entry, speaker: str, sentence: str, vow: Vow, people: _People) -> Promise | None:
    """Return the promise that a sentence gives or tells of; of what somebody says, only one of the speaker's."""
    me = people.called(speaker) if speaker else people.owner
    giver = me if vow.giver == "I" else people.called(vow.giver)
    taker = me if vow.taker == "me" else people.called(vow.taker) if vow.taker else ""
    others = [s for s in entry.subjects if s != giver]
    if not taker and giver == me and len(others) == 1:
        taker = others[0]
    if giver == taker or (speaker and giver != me):
        return None
    return Promise(giver, taker, sentence, vow.deed, entry.minute, (entry.number,), vow.spoken)


def _settle(owner: str, entry: Entry, names: Mapping[str, str], found: list[Promise], open_: _Open) -> None:
    """Settle an earlier promise that an entry calls kept or broken, or whose deed it recounts."""
    hint = hint_of(entry.text)
    alike = open_.alike(hint.stems)
    if not hint.is_outcome and not alike:
        return
    told = parse_line(entry, names)
    sentences = split_sentences(told.text)
    language = language_of(told.text)
    stated = next(filter(language.tells_outcome, sentences), "")
    by = language.tells_outcome(stated)
    pause = GAP if clock_in_force().has_times else 1
    present, me = {*entry.subjects, owner}, told.speaker or resolve_name(owner, names)
    for index in reversed(open_.words if stated else sorted(alike)):
        promise = found[index]
        giver, said = resolve_name(promise.giver, names), ""
        if entry.minute > promise.minute and index in alike:
            taker = "" if promise.taker in present or not told.speaker else resolve_name(promise.taker, names)
            accounts = (s for s in sentences if taker in s)  # to another, "your parcel" is not the taker's
            said = next((s for s in accounts if language.is_account(s, promise.deed, giver, giver == me)), "")
        of_giver = by == "?" or (by == "I") == (giver == me)
        if stated and of_giver and {promise.giver, promise.taker} - {""} <= present:
            is_about = entry.minute > promise.minute and are_alike(promise.words, hint_of(told.text).stems)
            if is_about or entry.minute - promise.minute >= pause:  # not in the talk that made the promise
                said = stated
        if said:
            numbers = tuple(sorted({*promise.evidence, entry.number}))
            open_.close(index)
            found[index] = replace(promise, settled=True, settled_by=said, evidence=numbers)
            return

"""Promises among memories: who promised what to whom, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from cogitate.memory.clock import date
from cogitate.memory.entry import Entry
from cogitate.memory.language.commitments import Vow, are_alike
from cogitate.memory.language.endings import QUESTIONS
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import stems
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.retrieval.text_cache import TextCache
from cogitate.memory.summaries.conversations import parse_line, resolve_name

MOST_QUOTED = 240  # characters of a sentence that is quoted
KEEP = "Keep the promise"  # opens an item of a plan


@dataclass(frozen=True)
class Promise:
    """A promise to another, in the words in which it was given or told of."""

    giver: str  # owner; a name if no entry says whose it is
    taker: str  # likewise; "" if the memory does not say, or names several
    said: str  # the sentence, as the entry has it
    deed: str  # the part of it that tells what is promised
    minute: int
    evidence: tuple[int, ...]
    spoken: bool = False  # the giver said so itself; otherwise the memory tells of it
    settled: bool = False
    settled_by: str = ""  # the sentence that tells what came of it
    tellings: tuple[tuple[int, str], ...] = ()  # every sentence that gives or tells of it, with its entry's number

    @property
    def words(self) -> frozenset[str]:
        """Return the stems of the deed, without the day and the hour at which it is due."""
        return language_of(self.said).deed_words(self.deed)

    @property
    def reminder(self) -> str:
        """Return what is to be done, as it was said or told of, with the day on which "tomorrow" was said."""
        dated = anchor_days(self.deed, self.minute)
        if not self.spoken:
            return dated.strip(" .!,;:")
        day = f" ({date(self.minute)})" if dated != self.deed else ""
        return f'"{shorten(self.said, MOST_QUOTED)}"{day}'


class _Hint(NamedTuple):
    """Cheap signs of whether a text may mention promises."""

    may_promise: bool
    is_outcome: bool
    stems: frozenset[str]


def _hint(text: str) -> _Hint:
    language = language_of(text)
    return _Hint(language.may_vow(text), language.tells_outcome(text) != "", frozenset(stems(text)))


#: An owner's memories are read again by each plan and reflection. Items: four for a text; some 30 MB.
hint_of = TextCache(_hint, most=200_000).of


def find_promises(owner: str, entries: Sequence[Entry], names: Mapping[str, str]) -> list[Promise]:
    """Return the promises in an owner's memories, by any giver, in the order in which they were given.

    A promise that is given or told of again is the same promise.
    """
    if not any(hint_of(e.text).may_promise for e in entries):
        return []
    ids = {resolve_name(s, names): s for s in (*dict.fromkeys(s for e in entries for s in e.subjects), owner)}
    found: list[Promise] = []
    for entry in sorted(entries, key=lambda e: (e.minute, e.number)):
        if entry.type in ("plan", "reflection"):
            continue
        made = list(_made(owner, entry, names, ids))
        if not made:  # who promises, or hears of a promise again, has not done it yet
            _settle(owner, entry, names, found)
        for promise in made:
            telling = (entry.number, promise.said)
            same = (
                at
                for at, p in enumerate(found)
                if promise.giver == p.giver and are_alike(promise.words, hint_of(p.deed).stems) and not p.settled
            )
            at = next(same, None)
            if at is None:
                found.append(replace(promise, tellings=(telling,)))
            else:
                found[at] = replace(found[at], tellings=(*found[at].tellings, telling))
    return found


def _made(owner: str, entry: Entry, names: Mapping[str, str], ids: Mapping[str, str]) -> Iterable[Promise]:
    if not hint_of(entry.text).may_promise:
        return
    line = parse_line(entry, names)
    language = language_of(line.text)
    for sentence in split_sentences(line.text):
        vow = None if sentence.endswith(QUESTIONS) else language.vow(sentence, bool(line.speaker))
        if vow is not None and (promise := _promise(owner, entry, line.speaker, sentence, vow, ids)):
            yield promise


def _promise(owner: str, entry: Entry, speaker: str, sentence: str, vow: Vow, ids: Mapping[str, str]) -> Promise | None:
    """Return the promise that a sentence gives or tells of; of what somebody says, only one of the speaker's."""
    me = ids.get(speaker, speaker) if speaker else owner
    giver = me if vow.giver == "I" else ids.get(vow.giver, vow.giver)
    taker = me if vow.taker == "me" else ids.get(vow.taker, vow.taker) if vow.taker else ""
    others = [s for s in entry.subjects if s != giver]
    if not taker and giver == me and len(others) == 1:
        taker = others[0]
    if giver == taker or (speaker and giver != me):
        return None
    return Promise(giver, taker, sentence, vow.deed, entry.minute, (entry.number,), vow.spoken)


def _settle(owner: str, entry: Entry, names: Mapping[str, str], found: list[Promise]) -> None:
    """Note what an entry says of a promise made before it: in so many words, or with an account of the deed."""
    hint = hint_of(entry.text)
    open_ = [at for at, promise in enumerate(found) if not promise.settled]
    if not hint.is_outcome and not any(are_alike(found[at].words, hint.stems) for at in open_):
        return
    told = parse_line(entry, names)
    sentences = split_sentences(told.text)
    language = language_of(told.text)
    stated = next(filter(language.tells_outcome, sentences), "")
    by = language.tells_outcome(stated)
    present, me = {*entry.subjects, owner}, told.speaker or resolve_name(owner, names)
    for index in reversed(open_):
        promise = found[index]
        giver, said = resolve_name(promise.giver, names), ""
        if entry.minute > promise.minute:
            said = next((s for s in sentences if language.is_account(s, promise.deed, giver, giver == me)), "")
        of_giver = by == "?" or (by == "I") == (giver == me)
        if stated and of_giver and {promise.giver, promise.taker} - {""} <= present:
            alike = entry.minute > promise.minute and are_alike(promise.words, hint_of(told.text).stems)
            if alike or entry.minute - promise.minute >= 30:  # no longer the talk in which it was promised
                said = stated
        if said:
            numbers = tuple(sorted({*promise.evidence, entry.number}))
            found[index] = replace(promise, settled=True, settled_by=said, evidence=numbers)
            return

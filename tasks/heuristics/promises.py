"""Promises among memories: who promised what to whom, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cogitate.memory.clock import day_number
from cogitate.memory.entry import Entry
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import stems
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.truncation import shorten
from cogitate.memory.summaries.conversations import parse_line, resolve_name

MOST_QUOTED = 240  # characters of a sentence that is quoted
KEEP = "Keep the promise to "  # opens an item of a plan

_ALIKE = 0.6  # share of a deed's words that an account of it repeats
#: "I promise: I will …", "I promise to …", "I'll … for you, I promise"
_VOW = re.compile(
    r"\bI(?: do)? (?:promise|swear|vow)(?: you)?\b[,:]?\s*(?:that )?(?:I(?:['’]ll| will)|to)\s(?P<deed>[^.!?;]{3,160})"
    r"|\bI(?:['’]ll| will) (?P<before>[^.!?;]{3,160}?), I (?:promise|swear)\b",
    re.I,
)
_TOLD = re.compile(
    r"\b(?P<giver>I|[A-ZА-Я][\w'’-]{0,40}(?: [A-ZА-Я][\w'’-]{0,40}){0,2}) (?:had )?promised "
    r"(?:(?P<taker>me|[A-ZА-Я][\w'’-]{0,40}(?: [A-ZА-Я][\w'’-]{0,40}){0,2}) )?to (?P<deed>[^.!?;]{3,160})"
)
_KEPT = re.compile(
    r"\bkept (?:my|his|her|their|your|the|a) (?:word|promise|oath|vow)|\bmade good on\b|"
    r"\bas (?:I |you |he |she |they )?(?:had )?promised\b",
    re.I,
)
_BROKEN = re.compile(
    r"\bI (?:completely |totally |simply )?forgot\b|\byou forgot\b|\bdid(?: you not|n['’]t you) promise\b|"
    r"\bbroke (?:my|his|her|their|your|the|a) (?:word|promise|oath|vow)|\b(?:did not|didn['’]t|never) (?:keep|kept)\b|"
    r"\byou promised\b.*\bbut\b|\bforgot (?:my|his|her|their|your) promise\b|"
    r"\bhad promised\b[^.!?;]*, (?:and|but|yet) (?:did(?: not|n['’]t)|never|forgot|failed|broke|kept silent)\b|"
    r"\bthough (?:it|this|that) had been promised\b",
    re.I,
)
#: "I have carried …", "Here are your …": what a promise that is kept sounds like.
_DONE = re.compile(
    r"\b(?:I|you|he|she|they|[A-Z]\w+) (?:have |has |had |just )?\w+(?:ed|t|ght|ew|aid|ave|ade|ole|oke)\b|"
    r"\bhere (?:is|are)\b",
    re.I,
)
_CONDITION = re.compile(r"\b(?:if|unless|in case|maybe|perhaps|might)\b", re.I)


@dataclass(frozen=True)
class Promise:
    """A promise to another, in the words in which it was given or told of."""

    giver: str  # owner
    taker: str  # owner; "" if the memory does not say
    said: str  # the sentence, as the entry has it
    deed: str  # the part of it that tells what is promised
    minute: int
    evidence: tuple[int, ...]
    spoken: bool = False  # the giver said so itself; otherwise the memory tells of it
    settled: bool = False
    settled_by: str = ""  # the sentence that states in so many words what came of it

    @property
    def reminder(self) -> str:
        """Return what is to be done, as it was said or told of, with the day on which "tomorrow" was said."""
        dated = anchor_days(self.deed, self.minute)
        if not self.spoken:
            return dated.strip(" .!,;:")
        day = f" (day {day_number(self.minute)})" if dated != self.deed else ""
        return f'"{shorten(self.said, MOST_QUOTED)}"{day}'


def find_promises(owner: str, entries: Sequence[Entry], names: Mapping[str, str]) -> list[Promise]:
    """Return the promises that an owner gave or was given, by the time of their making.

    A promise that is given or told of again is the same promise.
    """
    ids = {resolve_name(s, names): s for e in entries for s in e.subjects}
    found: list[Promise] = []
    for entry in sorted(entries, key=lambda e: (e.minute, e.number)):
        if entry.type in ("plan", "reflection"):
            continue
        made = list(_made(owner, entry, names, ids))
        if not made:  # who promises, or hears of a promise again, has not done it yet
            _settle(owner, entry, names, found)
        for promise in made:
            if not any(promise.giver == p.giver and _alike(promise.deed, p.deed) and not p.settled for p in found):
                found.append(promise)
    return found


def _made(owner: str, entry: Entry, names: Mapping[str, str], ids: Mapping[str, str]) -> Iterable[Promise]:
    line = parse_line(entry, names)
    for sentence in split_sentences(line.text):
        if sentence.endswith("?"):
            continue
        if line.speaker:
            made = _given(owner, entry, line.speaker, sentence, names, ids)
        else:
            made = _told(owner, entry, sentence, names, ids)
        if made:
            yield made


def _told(owner: str, entry: Entry, sentence: str, names: Mapping[str, str], ids: Mapping[str, str]) -> Promise | None:
    """Return the promise to or by the owner that a sentence tells of."""
    match = _TOLD.search(sentence)
    if not match or _BROKEN.search(sentence):
        return None
    giver = owner if match["giver"] in ("I", resolve_name(owner, names)) else ids.get(match["giver"], "")
    said = match["taker"]
    taker = owner if said in ("me", resolve_name(owner, names)) else ids.get(said, "")
    others = [s for s in entry.subjects if s != owner]
    if not taker and giver == owner and len(others) == 1:
        taker = others[0]
    if owner not in (giver, taker) or not giver or giver == taker:
        return None
    return Promise(giver, taker, sentence, match["deed"], entry.minute, (entry.number,))


def _given(
    owner: str, entry: Entry, speaker: str, sentence: str, names: Mapping[str, str], ids: Mapping[str, str]
) -> Promise | None:
    """Return the promise to or by the owner that a speaker gives with a sentence."""
    others = [s for s in entry.subjects if resolve_name(s, names) != speaker]
    giver = ids.get(speaker, "")
    if len(others) != 1 or not giver or owner not in (giver, others[0]) or _CONDITION.search(sentence):
        return None
    match = _VOW.search(sentence)
    if match is None:
        return None
    deed = match["deed"] or match["before"] or ""
    return Promise(giver, others[0], sentence, deed, entry.minute, (entry.number,), spoken=True)


def _settle(owner: str, entry: Entry, names: Mapping[str, str], found: list[Promise]) -> None:
    """Note what an entry says of a promise made before it.

    An account of a deed like the promised one settles it, too, so that nobody is reminded of what seems to be done;
    only a sentence that says so in so many words is told.
    """
    told = parse_line(entry, names)
    stated = _KEPT.search(told.text) or _BROKEN.search(told.text)
    present = {*entry.subjects, owner}
    for index in range(len(found) - 1, -1, -1):
        promise = found[index]
        if promise.settled or not {promise.giver, promise.taker} - {""} <= present:
            continue
        by_giver = told.speaker in ("", resolve_name(promise.giver, names))
        alike = entry.minute > promise.minute and _alike(promise.deed, told.text)
        if not (stated or (alike and by_giver and _DONE.search(told.text))):
            continue
        if entry.minute - promise.minute < 30 and not alike:
            continue  # still the talk in which it was promised
        said = next((s for s in split_sentences(told.text) if _KEPT.search(s) or _BROKEN.search(s)), "")
        numbers = tuple(sorted({*promise.evidence, entry.number}))
        found[index] = replace(promise, settled=True, settled_by=said, evidence=numbers)
        return


def _alike(deed: str, text: str) -> bool:
    wanted = set(stems(deed))
    return bool(wanted) and len(wanted & set(stems(text))) >= _ALIKE * len(wanted)

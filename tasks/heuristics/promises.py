"""Promises among memories: who promised what to whom, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memory.entry import Entry
from memory.language.own_view import deed_in_own_words
from memory.language.pronouns import pronouns_of
from memory.language.references import leans_on_others
from memory.language.sentences import split_sentences
from memory.language.text import stems
from memory.language.times import anchor_days
from memory.summaries.conversations import parse_line, resolve_name

KEEP = "Keep the promise to "  # opens an item of a plan
Outcome = Literal["open", "kept", "broken"]

LONGEST_DEED = 16  # words; a longer one is cut from the memory, not told in part
_ALIKE = 0.6  # share of a deed's words that an account of it repeats
#: "I promise: I will …", "I promise to …", "I'll … for you, I promise"
_VOW = re.compile(
    r"\bI(?: do)? (?:promise|swear|vow)(?: you)?\b[,:]?\s*(?:that )?(?:I(?:['’]ll| will)|to)\s(?P<deed>[^.!?;]{3,160})"
    r"|\bI(?:['’]ll| will) (?P<before>[^.!?;]{3,160}?), I (?:promise|swear)\b",
    re.I,
)
#: What is said to be done for the other is a promise without the word.
_WILL = re.compile(r"\bI(?:['’]ll| will) (?P<deed>(?!be\b|see\b|never\b|not\b|think\b|have to\b)[^.!?;]{3,160})", re.I)
_FOR_YOU = re.compile(r"\byou(?:r|rs)?\b", re.I)
_TOLD = re.compile(
    r"\b(?P<giver>I|[A-ZА-Я][\w'’-]{0,40}(?: [A-ZА-Я][\w'’-]{0,40}){0,2}) (?:had )?promised "
    r"(?:(?P<taker>me|[A-ZА-Я][\w'’-]{0,40}(?: [A-ZА-Я][\w'’-]{0,40}){0,2}) )?to (?P<deed>[^.!?;]{3,160})"
)
_KEPT = re.compile(
    r"\bkept (?:my|his|her|their|your|the|a) (?:word|promise)|\bas (?:I |you |he |she |they )?(?:had )?promised\b|"
    r"\bmade good on\b",
    re.I,
)
_BROKEN = re.compile(
    r"\bI (?:completely |totally |simply )?forgot\b|\byou forgot\b|\bdid(?: you not|n['’]t you) promise\b|"
    r"\bbroke (?:my|his|her|their|your|the|a) (?:word|promise)|\b(?:did not|didn['’]t|never) (?:keep|kept)\b|"
    r"\byou promised\b.*\bbut\b|\bforgot (?:my|his|her|their|your) promise\b|"
    r"\bhad promised\b[^.!?;]*, (?:and|but|yet) (?:did(?: not|n['’]t)|never|forgot|failed|broke|kept silent)\b|"
    r"\bthough (?:it|this|that) had been promised\b",
    re.I,
)
#: What came of one, in a reflection: "I kept the promise that I had given Ada: …", "I let Ada down: I had promised …".
_OUTCOME_TOLD = re.compile(
    r"(?<!not )(?<!yet )\b(?P<kept>kept the promise)\b|\bbroke the promise\b|^I let .{1,80} down: I had promised\b",
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
    """A promise to another, in the words of the one who remembers it: "repair my gate"."""

    giver: str  # owner
    taker: str  # owner; "" if the memory does not say
    deed: str  # "" where it leaves to other sentences what is meant
    minute: int
    evidence: tuple[int, ...]
    outcome: Outcome = "open"
    settled: int = 0  # game time of the outcome
    words: str = ""  # of the deed, as they were said


def find_promises(owner: str, entries: Sequence[Entry], names: Mapping[str, str]) -> list[Promise]:
    """Return the promises that an owner gave or was given, by the game time of their making, with their outcomes."""
    ids = {resolve_name(s, names): s for e in entries for s in e.subjects}
    found: list[Promise] = []
    for entry in sorted(entries, key=lambda e: (e.minute, e.number)):
        if entry.type == "plan":
            continue
        if entry.type == "reflection":
            _settle_as_told(entry, found)
            continue
        _settle(owner, entry, names, found)
        for made in _made(owner, entry, names, ids):
            if not any(
                made.giver == p.giver and _alike(made.words or made.deed, p.words or p.deed) and p.outcome == "open"
                for p in found
            ):
                found.append(made)
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
    deed = _without_name(match["deed"], resolve_name(taker, names) if taker else "")
    return Promise(giver, taker, _anchored(deed, entry), entry.minute, (entry.number,))


def _given(
    owner: str, entry: Entry, speaker: str, sentence: str, names: Mapping[str, str], ids: Mapping[str, str]
) -> Promise | None:
    """Return the promise to or by the owner that a speaker gives with a sentence."""
    others = [s for s in entry.subjects if resolve_name(s, names) != speaker]
    giver = ids.get(speaker, "")
    if len(others) != 1 or not giver or owner not in (giver, others[0]) or _CONDITION.search(sentence):
        return None
    match, vow = _VOW.search(sentence), True
    if match is None:
        match, vow = _WILL.search(sentence), False
    if match is None:
        return None
    said = match["deed"] or (match["before"] if vow else "") or ""
    if len(said.split()) > LONGEST_DEED or not (vow or _FOR_YOU.search(said)):
        return None
    other = others[0] if giver == owner else giver
    deed = deed_in_own_words(said, mine=giver == owner, other=resolve_name(other, names))
    if not deed:
        return None
    known = "" if leans_on_others(said) else _anchored(deed, entry)
    return Promise(giver, others[0], known, entry.minute, (entry.number,), words=deed)


def _settle(owner: str, entry: Entry, names: Mapping[str, str], found: list[Promise]) -> None:
    """Note what an entry says of promises made before it."""
    told = parse_line(entry, names)
    kept, broken = _KEPT.search(told.text), _BROKEN.search(told.text)
    present = {*entry.subjects, owner}
    for index in range(len(found) - 1, -1, -1):
        promise = found[index]
        if promise.outcome != "open" or not {promise.giver, promise.taker} - {""} <= present:
            continue
        by_giver = told.speaker in ("", resolve_name(promise.giver, names))
        alike = (
            entry.minute > promise.minute and _alike(promise.words or promise.deed, told.text) and not is_vow(told.text)
        )
        if broken:
            outcome: Outcome = "broken"
        elif kept or (alike and by_giver and _past(told.text)):
            outcome = "kept"
        else:
            continue
        if entry.minute - promise.minute < 30 and not alike:
            continue  # still the talk in which it was promised
        numbers = tuple(sorted({*promise.evidence, entry.number}))
        found[index] = replace(promise, outcome=outcome, settled=entry.minute, evidence=numbers)
        return


def _settle_as_told(reflection: Entry, found: list[Promise]) -> None:
    """Note what a reflection says of promises: what showed it may be archived by now."""
    for match in filter(None, map(_OUTCOME_TOLD.search, split_sentences(reflection.text))):
        outcome: Outcome = "kept" if match["kept"] else "broken"
        for index, promise in enumerate(found):
            before = promise.outcome == "open" and promise.minute < reflection.minute
            if before and _alike(promise.deed, match.string):
                numbers = (*promise.evidence, reflection.number)
                found[index] = replace(promise, outcome=outcome, settled=reflection.minute, evidence=numbers)


def _without_name(deed: str, name: str) -> str:
    """Return a deed for somebody who is named before it with pronouns: "bring Ada her book" is "bring her her book"."""
    if not name:
        return deed
    theirs = pronouns_of(name)
    found = re.escape(name)
    deed = re.sub(rf"{found}['’]s?(?= )", theirs.possessive, deed)
    for one, several in (("is", "are"), ("was", "were"), ("has", "have")):
        deed = re.sub(rf"{found} {one}\b", f"{theirs.subject} {several if theirs.plural else one}", deed)
    return re.sub(rf"{found}(?!\w)", theirs.object, deed)


def _past(text: str) -> bool:
    return _DONE.search(text) is not None


def is_vow(text: str) -> bool:
    """Return whether somebody promises something in these words."""
    will = _WILL.search(text)
    return _VOW.search(text) is not None or (will is not None and _FOR_YOU.search(will[0]) is not None)


def _alike(deed: str, text: str) -> bool:
    wanted = set(stems(deed))
    return bool(wanted) and len(wanted & set(stems(text))) >= _ALIKE * len(wanted)


def _anchored(deed: str, entry: Entry) -> str:
    return anchor_days(deed.strip(" .!,;:"), entry.minute)

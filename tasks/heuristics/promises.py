"""Promises among memories: who promised what to whom, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.clock import date
from cogitate.memory.entry import Entry
from cogitate.memory.language.grammar import is_past, past_of
from cogitate.memory.language.own_view import with_subject
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import stem, stems
from cogitate.memory.language.times import anchor_days, find_times
from cogitate.memory.language.truncation import shorten
from cogitate.memory.retrieval.terms import TERMS, Terms
from cogitate.memory.retrieval.text_cache import TextCache
from cogitate.memory.summaries.conversations import parse_line, resolve_name

MOST_QUOTED = 240  # characters of a sentence that is quoted
KEEP = "Keep the promise"  # opens an item of a plan

_ALIKE = 0.6  # share of a deed's words that an account of it repeats
_NAME = r"[A-ZА-Я][\w'’-]{0,40}(?: [A-ZА-Я][\w'’-]{0,40}){0,2}"
#: "I promise: I will …", "I promise to …", "I'll … for you, I promise"
_VOW = re.compile(
    r"\bI(?: do)? (?:promise|swear|vow)(?: you)?\b[,:]?\s*(?:that )?(?:I(?:['’]ll| will)|to)\s(?P<deed>[^.!?;]{3,160})"
    r"|\bI(?:['’]ll| will) (?P<before>[^.!?;]{3,160}?), I (?:promise|swear)\b",
    re.I,
)
_TOLD = re.compile(
    rf"\b(?P<giver>I|{_NAME}|[Tt]he \w{{1,40}}) (?:had |has |have )?promise[sd] "
    rf"(?:(?P<taker>me|{_NAME}) )?to (?P<deed>[^.!?;]{{3,160}})"
)
_PROMISING = ("promis", "swear", "vow")  # one of them stands in whatever `_VOW` and `_TOLD` find
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
_SETTLING = ("promise", "forgot", "kept", "keep", "broke", "made good")  # in whatever `_KEPT` and `_BROKEN` find
_CONDITION = re.compile(r"\b(?:if|unless|in case|maybe|perhaps|might|whether)\b", re.I)
#: Before the verb of a deed that was done, or was not: "did not mend", "forgot to mend".
_DID = re.compile(r"\b(?:did(?: not| never|n['’]t)?|(?:failed|forgot|refused|declined|managed) to) $")
_NOT_DONE = frozenset({"did", "didn", "failed", "forgot", "refused", "declined", "managed"})  # one of them opens `_DID`
#: When a deed is due, which is no part of it.
_WHEN = re.compile(
    r"\b(?:(?:on|by|until|before) )?(?:the \w{1,20} of )?(?:day \d{1,6}|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.I,
)
_WORD = re.compile(r"[^\W\d_]+")
#: Who does what follows, but for those whom "and" joins to another.
_SUBJECT = re.compile(r"\b(?:I|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|[Yy]ou|who|[A-ZА-Я][\w'’-]*)(?![\w'’-])")
_TOGETHER = re.compile(rf"(?:,|,? and|,? with) {_NAME}")
_NEAR = 100  # characters between who does something and the verb


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
    def reminder(self) -> str:
        """Return what is to be done, as it was said or told of, with the day on which "tomorrow" was said."""
        dated = anchor_days(self.deed, self.minute)
        if not self.spoken:
            return dated.strip(" .!,;:")
        day = f" ({date(self.minute)})" if dated != self.deed else ""
        return f'"{shorten(self.said, MOST_QUOTED)}"{day}'


def find_promises(owner: str, entries: Sequence[Entry], names: Mapping[str, str]) -> list[Promise]:
    """Return the promises in an owner's memories, by any giver, in the order in which they were given.

    A promise that is given or told of again is the same promise.
    """
    told = [(e, signs_of(e.text)) for e in entries if e.type not in ("plan", "reflection")]
    if not any(signs.promises for _, signs in told):
        return []
    ids = {resolve_name(s, names): s for s in (*dict.fromkeys(s for e in entries for s in e.subjects), owner)}
    found: list[Promise] = []
    open_: dict[int, frozenset[str]] = {}  # the words of those that are not settled, by their place in `found`
    words: frozenset[str] = frozenset()  # of all of them
    for entry, signs in sorted(told, key=lambda one: (one[0].minute, one[0].number)):
        made = list(_made(owner, entry, names, ids)) if signs.promises else []
        if open_ and not made:  # who promises, or hears of a promise again, has not done it yet
            said = TERMS.of(entry.text)
            alike = [] if words.isdisjoint(said) else [at for at in open_ if _are_alike(open_[at], said)]
            if alike and not signs.settles:
                deeds = _deeds_in(entry.text)
                alike = [at for at in alike if not deeds.isdisjoint(TERMS.of(found[at].deed))]
            settled = _settle(owner, entry, names, found, open_ if signs.settles else alike, alike)
            if settled is not None:
                del open_[settled]
                words = frozenset().union(*open_.values())
        for promise in made:
            telling = (entry.number, promise.said)
            same = (
                at
                for at, p in enumerate(found)
                if promise.giver == p.giver and _alike(promise.deed, p.deed) and not p.settled
            )
            at = next(same, None)
            if at is None:
                open_[len(found)] = _words_of(promise.deed)
                words |= open_[len(found)]
                found.append(replace(promise, tellings=(telling,)))
            else:
                found[at] = replace(found[at], tellings=(*found[at].tellings, telling))
    return found


class _Signs(NamedTuple):
    """What a text may say of promises; most texts share one value, which says nothing."""

    promises: bool  # it may give or tell of one
    settles: bool  # it says in so many words that one was kept or broken


_SIGNS_OF = {(one, other): _Signs(one, other) for one in (False, True) for other in (False, True)}


def _signs(text: str) -> _Signs:
    low = text.casefold()
    promises = any(sign in low for sign in _PROMISING)
    settles = any(sign in low for sign in _SETTLING) and bool(_KEPT.search(text) or _BROKEN.search(text))
    return _SIGNS_OF[promises, settles]


signs_of = TextCache(_signs, most=300_000).of  # items: three for a text; some 10 MB


def _deeds(text: str) -> frozenset[str]:
    """Return the stems of what a text may tell as done, or as not done."""
    low = [word[0].lower() for word in _WORD.finditer(text)]
    if not _NOT_DONE.isdisjoint(low):  # then any of the words may be meant
        return frozenset(map(stem, low))
    return frozenset(stem(word) for word in low if is_past(word) or past_of(word) == word)


_deeds_in = TextCache(_deeds, most=200_000).of


def _made(owner: str, entry: Entry, names: Mapping[str, str], ids: Mapping[str, str]) -> Iterable[Promise]:
    line = parse_line(entry, names)
    for sentence in split_sentences(line.text):
        if sentence.endswith("?"):
            continue
        made = _given(entry, line.speaker, sentence, names, ids) if line.speaker else None
        if made or (made := _told(owner, entry, line.speaker, sentence, names, ids)):
            yield made


def _told(
    owner: str, entry: Entry, speaker: str, sentence: str, names: Mapping[str, str], ids: Mapping[str, str]
) -> Promise | None:
    """Return the promise that a sentence tells of; of what somebody says, only one of the speaker's."""
    match = _TOLD.search(sentence)
    if not match or _BROKEN.search(sentence):
        return None
    me = ids.get(speaker, speaker) if speaker else owner
    giver = me if match["giver"] == "I" else ids.get(match["giver"], match["giver"])
    said = match["taker"]
    taker = me if said == "me" else ids.get(said, said) if said else ""
    others = [s for s in entry.subjects if s != giver]
    if not taker and giver == me and len(others) == 1:
        taker = others[0]
    if giver == taker or (speaker and giver != me):
        return None
    return Promise(giver, taker, sentence, match["deed"], entry.minute, (entry.number,))


def _given(
    entry: Entry, speaker: str, sentence: str, names: Mapping[str, str], ids: Mapping[str, str]
) -> Promise | None:
    """Return the promise that a speaker gives with a sentence."""
    match = _VOW.search(sentence)
    if match is None or _CONDITION.search(sentence):
        return None
    others = [s for s in entry.subjects if resolve_name(s, names) != speaker]
    taker = others[0] if len(others) == 1 else ""
    deed = match["deed"] or match["before"] or ""
    return Promise(ids.get(speaker, speaker), taker, sentence, deed, entry.minute, (entry.number,), spoken=True)


def _settle(
    owner: str,
    entry: Entry,
    names: Mapping[str, str],
    found: list[Promise],
    open_: Collection[int],
    alike: Collection[int],
) -> int | None:
    """Note what an entry says of a promise made before it: in so many words, or with an account of the deed.

    Args:
        open_: places in `found` of the promises that it may settle, ascending.
        alike: those of them whose deed it may tell.

    Returns:
        The place of the promise that is settled.
    """
    if not open_:
        return None
    told = parse_line(entry, names)
    sentences, said = split_sentences(told.text), TERMS.of(told.text)
    stated = next((s for s in sentences if _KEPT.search(s) or _BROKEN.search(s)), "")
    present = {*entry.subjects, owner}
    for index in reversed([*open_]):
        promise, settled_by = found[index], ""
        is_alike = index in alike and entry.minute > promise.minute and _are_alike(_words_of(promise.deed), said)
        if is_alike:
            giver = resolve_name(promise.giver, names)
            me = told.speaker or resolve_name(owner, names)
            settled_by = next((s for s in sentences if _is_account(s, promise.deed, giver, giver == me)), "")
        # Half an hour later it is no longer the talk in which it was promised.
        if (
            stated
            and {promise.giver, promise.taker} - {""} <= present
            and (is_alike or entry.minute - promise.minute >= 30)
        ):
            settled_by = stated
        if settled_by:
            numbers = tuple(sorted({*promise.evidence, entry.number}))
            found[index] = replace(promise, settled=True, settled_by=settled_by, evidence=numbers)
            return index
    return None


def _is_account(sentence: str, deed: str, giver: str, by_giver: bool) -> bool:
    """Return whether a sentence tells that the giver did a deed, or did not.

    Args:
        by_giver: the giver tells it, so that "I" is the giver.
    """
    if not _alike(deed, sentence) or sentence.endswith("?") or _CONDITION.search(sentence):
        return False
    text = with_subject(sentence, "I") if by_giver else sentence
    wanted = TERMS.of(deed)
    for word in _WORD.finditer(text):
        low = word[0].lower()
        if word.start() == 0 or stem(low) not in wanted:
            continue
        is_done = is_past(low) or past_of(low) == low or _DID.search(text, max(0, word.start() - 24), word.start())
        if is_done and _does(giver, by_giver, text[max(0, word.start() - _NEAR) : word.start()]):
            return True
    return False


def _does(giver: str, by_giver: bool, before: str) -> bool:
    """Return whether the giver is the subject of a verb, of which the text before it is given."""
    called = re.escape(giver[4:]) if giver.startswith(("The ", "the ")) else re.escape(giver)
    for mention in re.finditer(rf"\b(?:{called}{'|I' if by_giver else ''})(?![\w'’-])", before):
        if not _SUBJECT.search(_TOGETHER.sub("", before[mention.end() :])):
            return True
    return False


def _alike(deed: str, text: str) -> bool:
    return _are_alike(_words_of(deed), TERMS.of(text))


def _are_alike(wanted: frozenset[str], said: Terms) -> bool:
    return bool(wanted) and len(wanted.intersection(said)) >= _ALIKE * len(wanted)


@lru_cache(maxsize=4_096)
def _words_of(deed: str) -> frozenset[str]:
    """Return the stems of a deed without those of the day and the hour at which it is due."""
    undated = _WHEN.sub("", anchor_days(deed, 0))
    for time in reversed(find_times(undated)):
        undated = undated[: time.start] + undated[time.end :]
    return frozenset(stems(undated))

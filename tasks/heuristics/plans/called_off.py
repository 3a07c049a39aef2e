"""Cancelled habits: an owner's statements that it will not do something; a plan drops habits with the same words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import ENGLISH, UNDETERMINED, function_words_of, languages_of
from cogitate.memory.language.packs import Pack, forget_with_packs, pack_of
from cogitate.memory.language.port import language_of
from cogitate.memory.language.sentences import CLAUSES, QUESTIONS, split_sentences
from cogitate.memory.language.tables import read_table
from cogitate.memory.language.text import FUNCTION_WORDS, is_unspaced, words
from cogitate.memory.language.times import anchor_days, days_named, find_times
from cogitate.tasks.heuristics.reading import SAID

_ENGLISH = Pack(read_table("english"))
_SHORTEST = 4  # letters that two forms of a word must share
_HAN_RUN = re.compile("[\u3400-\u9fff]{2,}|[\u30a1-\u30ff]{2,}")  # words of Chinese and Japanese without endings


def called_off_for(owner: str, name: str, entries: Sequence[Entry], names: Mapping[str, str], start: int) -> list[str]:
    """Return the sentences in which an owner rules something out for the day of a plan.

    Args:
        name: the owner's name, as lines of talk spell it.
        start: game minute at which the plan begins.
    """
    own = _own(owner, name, entries, names, start)
    return [sentence for minute, text in own for sentence in _denied(text, minute, day_of(start))]


def is_off(owner: str, name: str, entries: Sequence[Entry], names: Mapping[str, str], start: int) -> bool:
    """Return whether an owner said that it has the day of a plan off; for the arguments, see `called_off_for`."""
    own = _own(owner, name, entries, names, start)
    return any(day_of(start) in _days_off(text, minute) for minute, text in own)


def _own(
    owner: str, name: str, entries: Sequence[Entry], names: Mapping[str, str], start: int
) -> Iterator[tuple[int, str]]:
    """Yield what an owner said within the last day, with the game minute."""
    if clock_in_force().counts_days:
        for entry, said in zip(entries, SAID.of(entries, owner, names), strict=True):
            if said is not None and said.speaker == name and start - DAY < entry.minute <= start:
                yield entry.minute, said.text


@lru_cache(maxsize=32_768)
def _days_off(text: str, minute: int) -> frozenset[int]:
    """Return the days of which a clause without an hour says that its speaker does not work."""
    code = languages_of(text)[0]
    pack = pack_of(code)
    words_off = _ENGLISH if code in (ENGLISH, UNDETERMINED) else pack
    return frozenset(
        day
        for sentence in split_sentences(text)
        if not sentence.endswith(QUESTIONS) and words_off.says("off", sentence)
        for clause in CLAUSES.split(anchor_days(sentence, minute, pack))
        if not find_times(clause, pack)
        for day in days_named(clause, pack)
    )


forget_with_packs(_days_off.cache_clear)


@lru_cache(maxsize=32_768)  # an owner's memories are read again by each plan
def _denied(text: str, minute: int, day: int) -> tuple[str, ...]:
    """Return the sentences that rule something out for a day; one with an hour may rule out that hour alone."""
    return tuple(
        dated
        for sentence in split_sentences(text)
        if not sentence.endswith(QUESTIONS) and (known := language_of(sentence)).declines(sentence)
        if day in days_named(dated := anchor_days(sentence, minute)) and not find_times(dated)
        if _core(dated) or known.is_called_off(dated)
    )


forget_with_packs(_denied.cache_clear)


def calls_off_habit(sentence: str, habit: str) -> bool:
    """Return whether a negative sentence is about a habit alone: the habit has all of its content words."""
    core, done = _core(sentence), _core(habit)
    return bool(core) and all(any(_is_form_of(word, other) for other in done) for word in core)


@lru_cache(maxsize=32_768)
def _core(text: str) -> tuple[str, ...]:
    """Return the content words of a text: no day, no negation, no function words."""
    code = languages_of(text)[0]
    pack = pack_of(code)
    if pack.days.numbered is not None:
        text = pack.days.numbered.sub(" ", text)
    if any(map(is_unspaced, text)):
        denials = {way for key in ("refusals", "declines") for way in pack.ways(key)}
        return tuple(run for run in _HAN_RUN.findall(text) if run not in denials)
    left_out = {word for key in ("declines", "lacks", "refusals") for way in pack.ways(key) for word in words(way)}
    left_out |= function_words_of(code) | (FUNCTION_WORDS if code in (ENGLISH, UNDETERMINED) else frozenset())
    return tuple(word for word in words(text) if word not in left_out and not word.isdigit())


forget_with_packs(_core.cache_clear)


def _is_form_of(word: str, other: str) -> bool:
    """Return whether two words differ only in their endings."""
    if word == other or is_unspaced(word[0]):
        return word in other or other in word
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    return shared >= _SHORTEST and 2 * shared >= max(len(word), len(other))

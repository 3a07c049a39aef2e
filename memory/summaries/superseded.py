"""Announcements that a later sentence supersedes: it cancels or moves them, or mentions them when they are over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.language.commitments import are_alike
from cogitate.memory.language.port import language_of
from cogitate.memory.language.times import days_named, find_times, rounds_named

_When = tuple[int, ...]  # the day and the minute of the day, or the round


class Told(NamedTuple):
    """A sentence of a line, and the game time at which it was said."""

    text: str
    minute: int
    line: int


class _Announced(NamedTuple):
    at: int
    line: int
    words: frozenset[str]
    due: _When


def superseded(told: Iterable[Told]) -> set[int]:
    """Return the indexes of announcements that a sentence of a later line supersedes.

    A sentence that calls something off supersedes the announcements with which it shares the most words. A sentence
    about the same deed supersedes an announcement with another date, or one whose time has passed.
    """
    ahead: list[_Announced] = []
    found: set[int] = set()
    for at, one in enumerate(told):
        language, due = language_of(one.text), _due(one.text, one.minute)
        is_off = language.is_called_off(one.text)
        if ahead or due:
            words = language.deed_words(one.text)
            shares = {item.at: len(item.words & words) for item in ahead if item.line < one.line}
            most = max(shares.values(), default=0)
            for item in ahead:
                shared = shares.get(item.at, 0)
                about_it = shared > 1 and (are_alike(item.words, words) or are_alike(words, item.words))
                is_moved = about_it and (due != item.due if due else item.due < _when(one.minute))
                if is_moved or (is_off and 0 < most == shared):
                    found.add(item.at)
            ahead = [item for item in ahead if item.at not in found]
            if due > _when(one.minute):
                ahead.append(_Announced(at, one.line, words, due))
    return found


def _due(text: str, minute: int) -> _When:
    """Return the last time that a sentence names; empty if it names none."""
    if rounds := rounds_named(text, minute):
        return (max(rounds),)
    days, times = days_named(text), find_times(text)
    if not clock_in_force().counts_days or not (days or times):
        return ()
    return max(days, default=day_of(minute)), max((time.minute for time in times), default=DAY - 1)


def _when(minute: int) -> _When:
    clock = clock_in_force()
    return (clock.dated(minute).get("round", 0),) if clock.counts_rounds else (day_of(minute), minute % DAY)

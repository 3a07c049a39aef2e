"""Promises on the page of minds: those in an owner's memory, and those by or to the owner that only others remember."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from cogitate.hosting.terminal import visible
from cogitate.memory.clock import day_and_time
from cogitate.memory.entry import Entry
from cogitate.tasks.heuristics.promises import Promise, find_promises, is_same_promise


class RememberedPromise(NamedTuple):
    """A promise as one owner remembers it."""

    owner: str  # who remembers it
    promise: Promise
    given: str  # game time at which it was given or mentioned, in words
    came: str  # game time of the memory that tells the outcome
    ended: float  # the same in total minutes; infinite while it is open


def remembered_promises(owner: str, entries: Collection[Entry], names: Mapping[str, str]) -> list[RememberedPromise]:
    """Return the promises in an owner's memory, in the order in which they were given.

    Args:
        entries: those of the memory, archived ones included.
    """
    numbered = {entry.number: entry for entry in entries}
    return [_remembered(owner, numbered, one) for one in find_promises(owner, [*entries], names)]


def _remembered(owner: str, entries: Mapping[int, Entry], promise: Promise) -> RememberedPromise:
    given, told = (entries[number] for number in (promise.evidence[0], promise.evidence[-1]))
    ended = told.minute if promise.settled else inf
    return RememberedPromise(owner, promise, _time(given), _time(told), ended)


def _time(entry: Entry) -> str:
    return day_and_time(entry.minute, entry.tick)


def of_others(promises: Iterable[RememberedPromise]) -> dict[str, list[RememberedPromise]]:
    """Return by its giver and by its taker each promise that another owner remembers."""
    found: dict[str, list[RememberedPromise]] = defaultdict(list)
    for one in promises:
        for who in {one.promise.giver, one.promise.taker} - {one.owner, ""}:
            found[who].append(one)
    return found


def unknown_to(
    own: Sequence[RememberedPromise], others: Iterable[RememberedPromise]
) -> tuple[list[RememberedPromise], dict[int, RememberedPromise]]:
    """Return promises that others remember and the owner does not, without repeats, and outcomes of its own promises.

    Args:
        own: promises that the owner remembers.

    Returns:
        The promises, and for each open one in `own`, by its index, another owner's memory that tells its outcome.
    """
    outcomes: dict[int, RememberedPromise] = {}
    strange = []
    for one in others:
        known = next((at for at, kept in enumerate(own) if _are_one(one, kept)), None)
        if known is not None:
            if one.promise.settled and not own[known].promise.settled:
                outcomes.setdefault(known, one)
        else:
            strange.append(one)
    return each_once(strange), outcomes


def each_once(promises: Iterable[RememberedPromise]) -> list[RememberedPromise]:
    """Return each promise that several remember once, preferably from a memory that tells its outcome."""
    by_giver: dict[str, list[RememberedPromise]] = defaultdict(list)
    for one in promises:
        found = by_giver[one.promise.giver]
        twice = next((at for at, kept in enumerate(found) if _are_one(one, kept)), None)
        if twice is None:
            found.append(one)
        elif one.promise.settled and not found[twice].promise.settled:
            found[twice] = one
    return [*chain.from_iterable(by_giver.values())]


def _are_one(one: RememberedPromise, other: RememberedPromise) -> bool:
    """Return whether two memories tell of one promise; one that is made again when it was settled is another."""
    at_once = one.promise.minute <= other.ended and other.promise.minute <= one.ended
    return at_once and is_same_promise(one.promise, other.promise)


def promises_data(own: Sequence[RememberedPromise], others: Iterable[RememberedPromise] = ()) -> list[dict[str, Any]]:
    """Return an owner's promises, each in the words of the entries that tell of it, with who remembers these entries.

    Args:
        own: those that the owner remembers; others' memories may tell their outcomes.
        others: those that others remember.
    """
    missing, outcomes = unknown_to(own, others)
    told = [_promise_data(one) | _outcome_data(outcomes.get(at, one)) for at, one in enumerate(own)]
    return told + [_promise_data(one) | _outcome_data(one) for one in missing]


def _promise_data(one: RememberedPromise) -> dict[str, Any]:
    promise = one.promise
    return {
        "giver": visible(promise.giver),
        "taker": visible(promise.taker),
        "said": visible(promise.said),
        "by": visible(one.owner),
        "n": promise.evidence[0],
        "minute": promise.minute,
        "when": one.given,
        "state": promise.state,
    }


def _outcome_data(one: RememberedPromise) -> dict[str, Any]:
    if not one.promise.settled:
        return {}
    return {
        "state": one.promise.state,
        "outcome": visible(one.promise.settled_by),
        "teller": visible(one.owner),
        "told": one.promise.evidence[-1],
        "came": one.came,
    }

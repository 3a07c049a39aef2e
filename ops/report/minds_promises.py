"""Promises on the page Minds: those in an owner's memory, and those by or to the owner that only others remember."""

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
    came: str  # game time of the memory that tells the outcome, in words
    ended: float  # the same time in total minutes; infinite while the promise is open


def remembered_promises(owner: str, entries: Collection[Entry], names: Mapping[str, str]) -> list[RememberedPromise]:
    """Return the promises in an owner's memory, in the order in which they were given.

    Args:
        entries: the entries of the memory, including archived ones.
    """
    numbered = {entry.number: entry for entry in entries}
    return [_remembered(owner, numbered, one) for one in find_promises(owner, [*entries], names)]


def _remembered(owner: str, entries: Mapping[int, Entry], promise: Promise) -> RememberedPromise:
    given, outcome = (entries[number] for number in (promise.evidence[0], promise.evidence[-1]))
    ended = outcome.minute if promise.settled else inf
    return RememberedPromise(owner, promise, _time(given), _time(outcome), ended)


def _time(entry: Entry) -> str:
    return day_and_time(entry.minute, entry.tick)


def of_others(promises: Iterable[RememberedPromise]) -> dict[str, list[RememberedPromise]]:
    """Return the promises that another owner remembers, by giver and by taker."""
    by_party: dict[str, list[RememberedPromise]] = defaultdict(list)
    for remembered in promises:
        for party in {remembered.promise.giver, remembered.promise.taker} - {remembered.owner, ""}:
            by_party[party].append(remembered)
    return by_party


def unknown_to(
    own: Sequence[RememberedPromise], others: Iterable[RememberedPromise]
) -> tuple[list[RememberedPromise], dict[int, RememberedPromise]]:
    """Return the promises that only others remember, without repeats, and outcomes of the owner's promises.

    Args:
        own: promises that the owner remembers.

    Returns:
        The promises; and, by index in `own`, for open promises another owner's memory that tells the outcome.
    """
    outcomes: dict[int, RememberedPromise] = {}
    unknown = []
    for one in others:
        known = next((index for index, kept in enumerate(own) if _are_one(one, kept)), None)
        if known is not None:
            if one.promise.settled and not own[known].promise.settled:
                outcomes.setdefault(known, one)
        else:
            unknown.append(one)
    return each_once(unknown), outcomes


def each_once(promises: Iterable[RememberedPromise]) -> list[RememberedPromise]:
    """Return each promise once, preferably as in a memory that tells its outcome."""
    by_giver: dict[str, list[RememberedPromise]] = defaultdict(list)
    for one in promises:
        kept = by_giver[one.promise.giver]
        repeated = next((index for index, other in enumerate(kept) if _are_one(one, other)), None)
        if repeated is None:
            kept.append(one)
        elif one.promise.settled and not kept[repeated].promise.settled:
            kept[repeated] = one
    return [*chain.from_iterable(by_giver.values())]


def _are_one(one: RememberedPromise, other: RememberedPromise) -> bool:
    """Return whether two memories are of the same promise; a promise made again after it was settled is another."""
    at_once = one.promise.minute <= other.ended and other.promise.minute <= one.ended
    return at_once and is_same_promise(one.promise, other.promise)


def promises_data(own: Sequence[RememberedPromise], others: Iterable[RememberedPromise] = ()) -> list[dict[str, Any]]:
    """Return an owner's promises, each in the words of the entries that mention it, with the owners of these entries.

    Args:
        own: the promises that the owner remembers; others' memories may tell their outcomes.
        others: the promises that others remember.
    """
    missing, outcomes = unknown_to(own, others)
    data = [_promise_data(one) | _outcome_data(outcomes.get(index, one)) for index, one in enumerate(own)]
    return data + [_promise_data(one) | _outcome_data(one) for one in missing]


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

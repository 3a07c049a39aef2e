"""Postponed thoughts: which of the agents that are due may think while a kind is throttled.

Each time an owner is due it brings as much credit as the cadence is worth: a whole thought when it is as usual, half a
thought when it is halved. A whole credit lets one owner think, and that is the one to whom most has happened since it
last thought, among all that wait. Whoever waits is due again an interval later, or when as much has happened again as
makes it due, and brings credit again. So a cadence of one half means half as many thoughts, whatever made them due, and
nothing that happened is lost: the thought that comes in the end is about all of it. Every time that an owner was due
and had to wait counts as one postponed thought.

At a last call whoever waits thinks whatever the credit is, and takes it from the others'.

When the cadence is as usual again those who still wait are let through a few a tick, not all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from scheduler.config.controls import FULL

RELEASE = 30  # ticks over which most of those who wait are let through once nothing presses any more


class Postponement(msgspec.Struct, frozen=True):
    """An owner that is due and may not think yet."""

    since: int  # game time, total minutes
    again: int  # when it is due once more and brings credit
    times: int  # it was postponed
    salience: int = 0  # how much had happened to it when it last brought credit


class ThrottledOwners(NamedTuple):
    """Who may think at a tick, and who was put off at it."""

    owners: list[str]
    postponed: list[str]


class Postponing(msgspec.Struct):
    """Who waits, and the credit that those who were due have brought."""

    credit: int = 0  # thousandths of a thought
    waiting: dict[str, Postponement] = msgspec.field(default_factory=dict)

    def sift(
        self,
        due: Iterable[str],
        *,
        factor: int,
        minute: int,
        interval: int,
        last_call: bool,
        salience: Callable[[str], int],
        enough: int | None = None,
    ) -> ThrottledOwners:
        """Who of those that are due or wait may think now.

        Args:
            due: owners that are due by their usual cadence.
            factor: the cadence in thousandths of the usual one.
            interval: game minutes after which one that waits is due once more.
            last_call: nobody is to wait any longer.
            salience: how much has happened to an owner since it last thought.
            enough: so much makes an owner due; None: only time does.
        """
        wanted, before = set(due), set(self.waiting)

        def again(owner: str) -> bool:
            was = self.waiting[owner]
            more = enough is not None and owner in wanted and salience(owner) - was.salience >= enough
            return more or was.again <= minute

        fresh = sorted(wanted - before) + sorted(filter(again, before))
        for owner in fresh:
            was = self.waiting.get(owner)
            since, times = (was.since, was.times) if was is not None else (minute, 0)
            happened = 0 if enough is None else salience(owner)
            self.waiting[owner] = Postponement(since, minute + interval, times + 1, happened)
        if factor >= FULL:
            self.credit = 0
            left = before.difference(fresh)
            owners = [*fresh, *self._most_salient(left, -(-len(left) // RELEASE), salience)]
        else:
            self.credit += factor * len(fresh)
            thoughts = self.credit // FULL
            owners = sorted(self.waiting) if last_call else self._most_salient(self.waiting, thoughts, salience)
            self.credit = max(0, self.credit - len(owners) * FULL)
        for owner in owners:
            del self.waiting[owner]
        if not self.waiting:
            self.credit %= FULL
        return ThrottledOwners(owners, [owner for owner in fresh if owner in self.waiting])

    def forget(self, owner: str) -> None:
        """The owner has left, or thinks for another reason."""
        self.waiting.pop(owner, None)

    def _most_salient(self, among: Iterable[str], count: int, salience: Callable[[str], int]) -> list[str]:
        if not count:
            return []
        order: Mapping[str, tuple[int, int, str]] = {
            owner: (-salience(owner), self.waiting[owner].since, owner) for owner in among
        }
        return sorted(order, key=order.__getitem__)[:count]

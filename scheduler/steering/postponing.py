"""Postpone reflections: decide which of the due owners may reflect while reflection is throttled.

Each time an owner is due, it adds credit in proportion to the cadence: one reflection at the usual cadence, half a
reflection at half of it. Each full credit lets one owner reflect: the waiting owner with the highest salience since its
last reflection. A waiting owner is due again, and adds credit again, after an interval, or when as much has happened as
makes an owner due. So half the cadence means half as many reflections, whatever made them due. Nothing is lost, because
a late reflection covers everything since the last one. Each time that a due owner has to wait counts as one
postponement.

At a last call, all waiting owners reflect, with or without credit, and use up the available credit.

Once the cadence is back to normal, a few waiting owners reflect at each tick, not all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from cogitate.scheduler.config.controls import FULL

RELEASE = 30  # ticks over which most waiting owners reflect after the end of the pressure


class Postponement(msgspec.Struct, frozen=True):
    """The state of an owner that is due but may not reflect yet."""

    since: int  # game time, total minutes
    again: int  # game time at which the owner is due again and adds credit
    times: int  # number of the owner's postponements
    salience: int = 0  # the owner's salience when it last added credit


class ThrottledOwners(NamedTuple):
    """The owners that may reflect at a tick, and those that are postponed at it."""

    owners: list[str]
    postponed: list[str]


class Postponing(msgspec.Struct):
    """The waiting owners, and the credit from due owners."""

    credit: int = 0  # thousandths of a reflection
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
        """Return which of the due and waiting owners may reflect now.

        Args:
            due: owners that are due at the usual cadence.
            factor: the cadence in thousandths of the usual one.
            interval: game minutes after which a waiting owner is due again.
            last_call: release all waiting owners.
            salience: returns the total importance of an owner's experiences since its last reflection.
            enough: the salience that makes an owner due; None: only time makes it due.
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
            released = self.credit // FULL
            owners = sorted(self.waiting) if last_call else self._most_salient(self.waiting, released, salience)
            self.credit = max(0, self.credit - len(owners) * FULL)
        for owner in owners:
            del self.waiting[owner]
        return ThrottledOwners(owners, [owner for owner in fresh if owner in self.waiting])

    def forget(self, owner: str) -> None:
        """Forget an owner that has left, or reflects for another reason."""
        self.waiting.pop(owner, None)

    def _most_salient(self, among: Iterable[str], count: int, salience: Callable[[str], int]) -> list[str]:
        if not count:
            return []
        order: Mapping[str, tuple[int, int, str]] = {
            owner: (-salience(owner), self.waiting[owner].since, owner) for owner in among
        }
        return sorted(order, key=order.__getitem__)[:count]

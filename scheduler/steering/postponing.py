"""Postponed thoughts: the choice of due owners that may think while a kind is throttled.

Each time an owner is due it brings as much credit as the cadence is worth: one thought at the usual cadence, half a
thought at half of it. A full credit lets one owner think: the one with the highest salience since its last thought,
among all that wait. A waiting owner is due again an interval later, or when as much has happened again as makes it due,
and brings credit again. So half the cadence means half as many thoughts, whatever made them due, and nothing that
happened is lost: the late thought is about all of it. Each time that an owner is due and has to wait counts as one
postponed thought.

At a last call all waiting owners think whatever the credit is, and use up that of the others.

Once the cadence is as usual again a few of the waiting owners think at each tick, not all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from cogitate.scheduler.config.controls import FULL

RELEASE = 30  # ticks over which most waiting owners think once there is no pressure any more


class Postponement(msgspec.Struct, frozen=True):
    """The postponement of an owner that is due and may not think yet."""

    since: int  # game time, total minutes
    again: int  # game time at which it is due once more and brings credit
    times: int  # number of its postponements
    salience: int = 0  # its salience when it last brought credit


class ThrottledOwners(NamedTuple):
    """The owners that may think at a tick, and those that it postponed."""

    owners: list[str]
    postponed: list[str]


class Postponing(msgspec.Struct):
    """The waiting owners, and the credit that due owners have brought."""

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
        """Return which owners that are due or wait may think now.

        Args:
            due: owners that are due by their usual cadence.
            factor: the cadence in thousandths of the usual one.
            interval: game minutes after which a waiting owner is due once more.
            last_call: no owner waits any longer.
            salience: returns how much has happened to an owner since its last thought.
            enough: the salience that makes an owner due; None: only time does.
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
        return ThrottledOwners(owners, [owner for owner in fresh if owner in self.waiting])

    def forget(self, owner: str) -> None:
        """Forget an owner that has left, or thinks for another reason."""
        self.waiting.pop(owner, None)

    def _most_salient(self, among: Iterable[str], count: int, salience: Callable[[str], int]) -> list[str]:
        if not count:
            return []
        order: Mapping[str, tuple[int, int, str]] = {
            owner: (-salience(owner), self.waiting[owner].since, owner) for owner in among
        }
        return sorted(order, key=order.__getitem__)[:count]

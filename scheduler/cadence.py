"""Cadence: when each kind of job is due for each owner.

Nobody is asked at every tick. A kind is asked about an owner whose stream changed, and at the tick that the
kind itself named; and never while a job of that kind and owner is open or waits to be tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tasks.job import Request
from tasks.kind import Kind, Moment


class Cadence:
    """Remembers when to ask. Holds no truth: on resume `rewake` makes it anew."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = sorted(kinds, key=lambda kind: kind.order)
        self._wakes: dict[int, set[tuple[str, str]]] = {}
        self._touched: set[str] = set()

    def touch(self, owner: str) -> None:
        """The owner's stream or its open jobs changed."""
        self._touched.add(owner)

    def forget(self, owner: str) -> None:
        """The owner has left."""
        self._touched.discard(owner)
        for waiting in self._wakes.values():
            waiting.difference_update({pair for pair in waiting if pair[0] == owner})

    def due(self, tick: int, moment_of: Callable[[str], Moment], busy: Callable[[str, str], bool]) -> list[Request]:
        """The requests of this tick, in order of owner and kind.

        Args:
            busy: whether a job of (kind, owner) is open or waits to be tried again.
        """
        asked: set[tuple[str, str]] = self._wakes.pop(tick, set())
        asked |= {(owner, kind.name) for owner in self._touched for kind in self._kinds}
        self._touched.clear()
        by_owner: dict[str, set[str]] = {}
        for owner, name in asked:
            by_owner.setdefault(owner, set()).add(name)
        requests: list[Request] = []
        for owner in sorted(by_owner):
            moment = moment_of(owner)
            for kind in self._kinds:
                if kind.name not in by_owner[owner] or busy(kind.name, owner):
                    continue
                requests += kind.due(moment)
                self._wake(kind, moment)
        return requests

    def rewake(self, moments: Iterable[Moment], busy: Callable[[str, str], bool]) -> None:
        """Make the wakes anew from what each owner is at the end of the last tick; nobody is asked for requests."""
        for moment in moments:
            for kind in self._kinds:
                if not busy(kind.name, moment.owner):
                    self._wake(kind, moment)

    def _wake(self, kind: Kind, moment: Moment) -> None:
        tick = kind.wake(moment)
        if tick is not None:
            self._wakes.setdefault(max(tick, moment.tick + 1), set()).add((moment.owner, kind.name))

"""The ticks of a loop, and their iterators: one at a time has its tick, so that no body loses it to another one."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from cogitate.memory.errors import UsageError
from cogitate.scheduler.journal.ends import Change, JobEnd


class Tick(NamedTuple):
    """One tick as the world sees it."""

    number: int
    minute: int  # game time, total minutes
    applied: tuple[Change, ...]
    replayed: bool  # handed over again on resume: already committed
    ended: tuple[JobEnd, ...] = ()  # jobs that have ended since the last tick was handed over


class OneDriver:
    """The rule that hands out a loop's ticks to one iterator at a time; another continues once that is gone.

    Args:
        open_tick: returns how to name the tick whose body has not ended; "" when there is none.
    """

    def __init__(self, ticks: Generator[Tick, None, None], open_tick: Callable[[], str]) -> None:
        self._ticks = ticks
        self._open_tick = open_tick
        self._driver: weakref.ref[_Iterator] | None = None
        self._newest: Tick | None = None  # as its body knows it
        self._unseen: Tick | None = None  # its boundary has passed within a body that does not know it yet

    def __iter__(self) -> Iterator[Tick]:
        return _Iterator(self)

    def next_for(self, iterator: _Iterator) -> Tick:
        """Return the next tick.

        Raises:
            UsageError: while another iterator's tick is open, or the loop itself is at work.
        """
        self._check_idle()
        driver = self._driver() if self._driver is not None else None
        if driver is not None and driver is not iterator and (name := self._open_tick()):
            raise UsageError(
                f"{name} is open, and another iterator of this loop handed it out: asking for the next tick here would "
                "end its body and skip a tick. Ask in one place only: on that iterator, or after its body"
            )
        self._driver = weakref.ref(iterator)
        self._pass(next(self._ticks))
        return self.seen()

    def advance(self) -> Tick | None:
        """Return the next tick, whose turn the body of the open one goes on with; None after the last.

        Raises:
            UsageError: while the loop itself is at work.
        """
        self._check_idle()
        tick = next(self._ticks, None)
        if tick is not None:
            self._pass(tick)
        return tick

    def seen(self) -> Tick:
        """Return the newest tick, with what happened at all boundaries since the last one that a body has seen."""
        if self._unseen is not None:
            self._newest, self._unseen = self._unseen, None
        assert self._newest is not None, "no tick was handed over"
        return self._newest

    def _pass(self, tick: Tick) -> None:
        if (before := self._unseen) is not None:
            tick = tick._replace(applied=before.applied + tick.applied, ended=before.ended + tick.ended)
        self._unseen = tick

    def _check_idle(self) -> None:
        if inspect.getgeneratorstate(self._ticks) == inspect.GEN_RUNNING:
            raise UsageError("the loop is running a step: ask for its next tick after that, in one thread")


class _Iterator:
    """One iterator of a loop."""

    def __init__(self, driver: OneDriver) -> None:
        self._driver = driver

    def __iter__(self) -> Iterator[Tick]:
        return self

    def __next__(self) -> Tick:
        return self._driver.next_for(self)

"""Hand out the ticks of a loop to one iterator at a time, so no body loses its tick to another.

A resumed world first gets the ticks since its last checkpoint again, and must repeat what it did.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import NamedTuple

from cogitate.memory.clock import Clock
from cogitate.memory.errors import CogitateError, UsageError
from cogitate.scheduler.engine.run_data import WorldTurn
from cogitate.scheduler.journal.ends import Change, JobEnd, ends_after_turn, ends_at_boundary
from cogitate.scheduler.journal.history import changes_of, observed_again, read_journal
from cogitate.scheduler.journal.lines import Core, JournalError
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.tick.world_calls import WorldCalls


class Tick(NamedTuple):
    """One tick, in the form that the world gets."""

    number: int
    minute: int  # game time, total minutes
    applied: tuple[Change, ...]
    replayed: bool  # True: already committed, and delivered again on resume
    ended: tuple[JobEnd, ...] = ()  # jobs that have ended since the last delivered tick


class OneDriver:
    """Hands out a loop's ticks to one iterator at a time; another may continue once that one is gone.

    Args:
        open_tick: returns the name of the tick whose body has not ended; "" if there is none.
    """

    def __init__(self, ticks: Generator[Tick, None, None], open_tick: Callable[[], str]) -> None:
        self._ticks = ticks
        self._open_tick = open_tick
        self._driver: weakref.ref[_Iterator] | None = None
        self._newest: Tick | None = None  # the newest tick that a body has received
        self._unseen: Tick | None = None  # a later tick whose boundary passed within this body

    def __iter__(self) -> Iterator[Tick]:
        return _Iterator(self)

    def next_for(self, iterator: _Iterator) -> Tick:
        """Return the next tick.

        Raises:
            UsageError: while another iterator's tick is open, or the loop runs a step.
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
        """Return the next tick, in which the body of the open tick continues; None after the last.

        Raises:
            UsageError: while the loop runs a step.
        """
        self._check_idle()
        tick = next(self._ticks, None)
        if tick is not None:
            self._pass(tick)
        return tick

    def seen(self) -> Tick:
        """Return the newest tick, with the changes and ends of all boundaries since the last received tick."""
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


class WorldDiverged(CogitateError, RuntimeError):
    """A resumed world repeated its last tick differently, so it is not deterministic from its checkpoint.

    Open the run with `world="present"` to continue after its last committed tick with the world's present state. Or put
    all of the world's state, including random generators, into the checkpoint, and restore it from `loop.restored`.
    """


def redeliver(ledger: HostLedger, calls: WorldCalls, clock: Clock, checkpoint: int, last: int) -> Iterator[Tick]:
    """Yield the ticks after a world's checkpoint up to the last committed one, and check each after its body.

    Raises:
        WorldDiverged: if the world's observations differ from the journal.
    """
    before = ends_before(ledger, clock, checkpoint + 1)
    calls.redelivering = True
    for line in read_journal(ledger.store, checkpoint + 1, last):
        core = line.core
        calls.open(core.tick)
        with clock.in_force():
            ends = (*before, *ends_at_boundary(ledger.run, core.tick, core.ended, line.notes.ended))
            before = tuple(ends_after_turn(ledger.run, core, line.notes.ended))
        yield Tick(core.tick, core.minute, tuple(changes_of(line)), True, ends)
        calls.check_process()
        calls.is_open = False
        turn, _ = calls.take()
        _check_repeated(turn, core, last, checkpoint)
    calls.redelivering = False


def ends_before(ledger: HostLedger, clock: Clock, tick: int) -> tuple[JobEnd, ...]:
    """Return the ends that the previous tick decided after the world's turn, which no tick has reported yet."""
    with suppress(JournalError):  # if the line was trimmed, an earlier host has reported them
        for line in read_journal(ledger.store, tick - 1, tick - 1) if tick > 1 else ():
            with clock.in_force():
                return tuple(ends_after_turn(ledger.run, line.core, line.notes.ended))
    return ()


def _check_repeated(turn: WorldTurn, core: Core, last: int, checkpoint: int) -> None:
    if not observed_again(turn.observed, core):
        known = len(core.observed) + len(core.waiting) + len(core.repeated)
        raise WorldDiverged(
            f"tick {core.tick}: the resumed world observed {len(turn.observed)} entries that differ from the "
            f"{known} in the journal. {remedy(last, checkpoint)}"
        )


def remedy(last: int, checkpoint: int) -> str:
    """Return the remedy for a world that has diverged."""
    return (
        f'Nothing is lost: open the run again with world="present" to continue at tick {last + 1} with the present '
        "state of the world; or, if the world is deterministic, restore it from loop.restored, its checkpoint of tick "
        f"{checkpoint}, before the loop"
    )

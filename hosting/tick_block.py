"""One tick as a block, for hosts that own their loop: `with loop.next_tick() as tick:`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cogitate.memory.errors import UsageError
from cogitate.scheduler.tick.loop import RunLoop, Tick


def one_by_one(loop: RunLoop, begin: Callable[[], object]) -> Callable[[], Tick | None]:
    """Return a function that hands over the next tick, None after the last; before the first it calls `begin`."""
    ticks: Iterator[Tick] | None = None

    def advance() -> Tick | None:
        nonlocal ticks
        begun = iter(loop)  # raises if the loop has ended
        if ticks is None:
            begin()
            ticks = begun  # kept, so that the loop knows the holder of its tick
        return next(ticks, None)

    return advance


class TickBlock:
    """The block of one tick. Its end commits the tick; an error discards it.

    Args:
        advance: returns the next tick; None after the last.
    """

    def __init__(self, loop: RunLoop, advance: Callable[[], Tick | None]) -> None:
        self._loop = loop
        self._advance = advance
        self._inside = False

    def __enter__(self) -> Tick:
        run = self._loop.ledger.run
        if self._inside:
            raise UsageError(f"run {run!r}: tick {self._loop.calls.present} is open; end its block before the next one")
        tick = self._advance()
        if tick is None:
            raise UsageError(f"run {run!r} is over at tick {self._loop.tick}: check `loop.over` before each tick")
        self._inside = True
        return tick

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._inside = False
        if kind is None:
            self._loop.commit()
        else:
            self._loop.abandon()

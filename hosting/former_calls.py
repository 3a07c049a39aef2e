"""Former calls of a loop, each with the call that replaces it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from cogitate.memory.errors import UsageError

FORMER = {
    "ask": "`loop.apply(effect)` applies an effect; `loop.request(kind, owner)` requests a job",
    "watchers": "give `TickLoop(watchers=…)`",
}


class FormerCalls:
    """The refusal of attributes that a loop does not have."""

    if not TYPE_CHECKING:  # a type checker is to find misspelt names

        def __getattr__(self, name: str) -> NoReturn:
            advice = f": {FORMER[name]}" if name in FORMER else ""
            what = f"{type(self).__name__!r} object has no attribute {name!r}{advice}"
            raise AttributeError(what, name=name, obj=self)


class TickNumber(int):
    """The number of a tick, which a former version called to open the next one."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)

    def __call__(self) -> NoReturn:
        raise UsageError(
            "loop.tick is the number of the last committed tick: open the next one with `for tick in loop` or "
            "`with loop.next_tick() as tick:`"
        )

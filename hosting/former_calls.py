"""Former calls of a loop, each with the call that replaces it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

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

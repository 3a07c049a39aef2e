"""A host's own kind whose code always raises; it has jobs while the file named by `SWITCH` exists."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cogitate.effects import Effect
from cogitate.kinds import Case, Kind, Moment, Prompt, Request, register

SWITCH = "TRADE_SWITCH"  # a variable of the host's environment


class Trade(Kind):
    """A kind by which every agent trades at every tick."""

    name = "trade"
    order = 90
    latency = 1
    prompt_cap = 100
    output_cap = 10

    def due(self, moment: Moment) -> Iterable[Request]:
        if moment.owner.startswith("agent:") and Path(os.environ[SWITCH]).exists():
            yield Request(kind=self.name, owner=moment.owner)

    def wake(self, moment: Moment) -> int:
        return moment.tick + 1

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        raise LookupError("no price for bread")

    def effects(self, case: Case, answer: object, used: tuple[int, ...]) -> tuple[Effect, ...]:
        raise AssertionError("no model is asked")

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        raise LookupError("no price for bread")


register(Trade())

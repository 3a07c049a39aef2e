"""A host's own kind of which each attempt kills its worker, with all other jobs of that worker."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterable

from cogitate.effects import Append, Effect, Entry
from cogitate.kinds import Case, Kind, Moment, Prompt, Request, register

TICK, OWNER = 18, "agent:isabella-rossi"  # the tick of the morning, when every agent plans
STATS = os.environ.get("COGITATE_BASE_URL", "").removesuffix("/v1") + "/stats"
ALONE = 1.0  # seconds to wait for other jobs before it dies alone


class Doom(Kind):
    """A kind that is due once and kills the worker that asks for its prompt."""

    name = "doom"
    order = 90
    latency = 4
    on_denied = "drop"
    prompt_cap = 100
    output_cap = 10

    def due(self, moment: Moment) -> Iterable[Request]:
        if (moment.tick, moment.owner) == (TICK, OWNER):
            yield Request(kind=self.name, owner=moment.owner)

    def wake(self, moment: Moment) -> int | None:
        return TICK if moment.tick < TICK else None

    def prompt(self, case: Case, memory_share: float = 1.0) -> Prompt:
        given_up = time.monotonic() + ALONE
        while time.monotonic() < given_up and not _company():
            time.sleep(0.02)  # poll the endpoint, which runs in another process
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("no process survives SIGKILL")

    def effects(self, case: Case, answer: object, used: tuple[int, ...]) -> tuple[Effect, ...]:
        raise AssertionError("no worker survives to apply effects")

    def heuristic(self, case: Case) -> tuple[Effect, ...]:
        return (
            Append(case.job.key.owner, Entry(type="reflection", text="Some thoughts kill.", minute=case.job.minute)),
        )


def _company() -> bool:
    """Return whether another job asks the model now."""
    with urllib.request.urlopen(STATS) as answer:
        return int(json.load(answer)["in_flight"]) > 0


register(Doom())

"""An operator of the simulated run, who cancels jobs at random steps by draws of its own."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

import msgspec
from redis import Redis

from cogitate.scheduler.config.controls import CancelJobs, ControlRequest
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.keys import incarnation_key, run_base, script
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.steering.operators import MOST_WAITING
from tests.simulation.seeded.scene import RUN, has_operator

MOST = 3  # jobs of one request
REMEMBERED = 20  # of the jobs that it has seen, which it names although they may have ended


class Operator:
    """Names open jobs, and a few that may have ended meanwhile."""

    def __init__(self, seed: int, client: Redis, *, frequent: bool) -> None:
        self._client = client
        self._draw = Random(f"operator {seed}")
        usual = self._draw.choice((0.003, 0.01, 0.03)) if has_operator(seed) else 0.0
        self._each_step = 0.05 if frequent else usual
        self._seen: list[str] = []
        self._asked = 0

    def acts(self) -> bool:
        """Return whether it sends a request between these two steps."""
        return bool(self._each_step) and self._draw.random() < self._each_step

    def cancel(self) -> bool:
        """Send a request; return whether there was a job to name."""
        try:
            store = RunStore.open(self._client, RUN)
        except RunMissing:
            return False
        there = sorted(raw.decode() for raw in store.members("jobs"))
        self._seen = list(dict.fromkeys((*self._seen, *there)))[-REMEMBERED:]
        if not self._seen:
            return False
        named = self._draw.sample(there, min(len(there), self._draw.randint(1, MOST)))
        if not named or self._draw.random() < 0.2:
            named.append(self._draw.choice(self._seen))
        self._asked += 1
        request = ControlRequest(f"operator-{self._asked}", CancelJobs(tuple(named)), "operator", "at random")
        send(self._client, store, request)
        return True


class Asked(NamedTuple):
    """An operator's request, and the tick that took it."""

    tick: int
    request: ControlRequest


def asked_of(lines: Iterable[ReadLine]) -> tuple[Asked, ...]:
    """Return the requests that a run has taken: inputs, like the answers."""
    return tuple(
        Asked(answer.tick, ControlRequest(answer.id, answer.control, answer.by, answer.reason))
        for line in lines
        for answer in line.notes.answers
    )


def send(client: Redis, store: RunStore, request: ControlRequest) -> None:
    """Put a request in the run's list, as `cogitate.scheduler.steering.operators.ask` does."""
    lines = [msgspec.json.encode(request)]
    answer: Any = script(client, "control")(
        keys=[incarnation_key(RUN)], args=[run_base(RUN), store.incarnation, MOST_WAITING, *lines]
    )
    assert answer[0] in (b"ok", b"full"), answer

"""What befalls the processes of a run that is soaked: one fault after the other, drawn from a seed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from redis import Redis

from ops.fake_llm import FakeEndpoint

#: Shares of the stand-in endpoint's requests, where a run asks it.
ENDPOINT_FAULTS = {"429:1": 0.03, "500": 0.02, "close": 0.02, "broken_json": 0.02, "refusal": 0.01, "no_usage": 0.01}


def workers_of(host: int) -> list[int]:
    """Process ids of the workers that a host has started, in order. From `/proc`."""
    found = []
    for task in Path(f"/proc/{host}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            with contextlib.suppress(OSError):
                if b"celery" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(child)
    return sorted(found)


class Faults:
    """Strikes a run's workers, connections and messages.

    Args:
        host: its process id.
        state, broker: clients of the run's databases.
        seed: which faults, in which order.
    """

    def __init__(self, host: int, state: Redis, broker: Redis, seed: int, endpoint: FakeEndpoint | None) -> None:
        self._host = host
        self._state = state
        self._broker = broker
        self._draw = random.Random(seed)
        self._endpoint = endpoint
        self.struck: Counter[str] = Counter()

    def pause(self, mean: float) -> float:
        """Seconds until the next fault: from half of `mean` to one and a half."""
        return mean * self._draw.uniform(0.5, 1.5)

    def strike(self) -> None:
        """One fault."""
        kinds: dict[str, Callable[[], bool]] = {
            "worker killed": lambda: self._signal_worker(signal.SIGKILL),
            "worker restarted": lambda: self._signal_worker(signal.SIGTERM),
            "normal connections killed": lambda: self._kill_connections("normal"),
            "pubsub connections killed": lambda: self._kill_connections("pubsub"),
            "broker wiped": lambda: bool(self._broker.flushdb()),
            "messages duplicated": self._duplicate_messages,
        }
        name = self._draw.choice(sorted(kinds))
        if kinds[name]():
            self.struck[name] += 1

    def by_endpoint(self) -> dict[str, int]:
        """How often the stand-in failed, by fault."""
        return self._endpoint.stats().by_fault if self._endpoint is not None else {}

    def _signal_worker(self, number: signal.Signals) -> bool:
        workers = workers_of(self._host)
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._draw.choice(workers), number)
        return bool(workers)

    def _kill_connections(self, kind: str) -> bool:
        killed: Any = self._state.client_kill_filter(_type=kind, skipme=True)
        return int(killed) > 0

    def _duplicate_messages(self) -> bool:
        """Every message that waits in a queue comes once more."""
        doubled = 0
        for key in self._broker.scan_iter(match="cogitate:*", _type="list"):
            waiting: Any = self._broker.lrange(key, 0, -1)
            if waiting:
                self._broker.lpush(key, *waiting)
                doubled += len(waiting)
        return doubled > 0

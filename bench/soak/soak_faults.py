"""Faults for a soak test's processes, one after the other, drawn from a seed."""

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

from cogitate.memory import typed_json
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Job
from cogitate.workers.processes.supervisor import QUICK_DEATH
from cogitate.workers.publish import Publisher

#: Shares of the stand-in endpoint's requests that fail, if a run asks it.
ENDPOINT_FAULTS = {"429:1": 0.03, "500": 0.02, "close": 0.02, "broken_json": 0.02, "refusal": 0.01, "no_usage": 0.01}


_JOB = typed_json.decoder(Job)

PATIENCE = 10  # tries to find a target for a fault before another fault is drawn


def workers_of(host: int) -> list[int]:
    """Return the process ids of a host's workers, in order, from `/proc`."""
    found = []
    for task in Path(f"/proc/{host}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            with contextlib.suppress(OSError):
                if b"celery" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(child)
    return sorted(found)


def age_of(pid: int) -> float:
    """Return the seconds since a process started, from `/proc`; 0 if it is gone."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return uptime - int(after_name[19]) / os.sysconf("SC_CLK_TCK")


class Faults:
    """Strikes a run's workers, connections and messages.

    Args:
        host: the host's process id.
        run: the run's name.
        state, broker: clients of the run's databases.
        settings: name the broker.
        seed: determines the faults and their order.
    """

    def __init__(
        self,
        host: int,
        run: str,
        state: Redis,
        broker: Redis,
        settings: Settings,
        seed: int,
        endpoint: FakeEndpoint | None,
    ) -> None:
        self._host = host
        self._run = run
        self._state = state
        self._broker = broker
        self._publisher = Publisher(settings)
        self._draw = random.Random(seed)
        self._endpoint = endpoint
        self._next = ""
        self._looks = 0
        self.struck: Counter[str] = Counter()

    def pause(self, mean: float) -> float:
        """Return the seconds until the next fault: 0.5 to 1.5 times `mean`."""
        return mean * self._draw.uniform(0.5, 1.5)

    def strike(self) -> bool:
        """Apply the current fault; return whether it found a target. If not, retry it next time, up to `PATIENCE`."""
        kinds: dict[str, Callable[[], bool]] = {
            "worker killed": lambda: self._signal_worker(signal.SIGKILL),
            "worker restarted": lambda: self._signal_worker(signal.SIGTERM),
            "normal connections killed": lambda: self._kill_connections("normal"),
            "pubsub connections killed": lambda: self._kill_connections("pubsub"),
            "broker wiped": lambda: bool(self._broker.flushdb()),
            "messages doubled": self._double_messages,
        }
        if not self._next or self._looks >= PATIENCE:
            self._next, self._looks = self._draw.choice(sorted(kinds)), 0
        self._looks += 1
        if not kinds[self._next]():
            return False
        self.struck[self._next] += 1
        self._next = ""
        return True

    def by_endpoint(self) -> dict[str, int]:
        """Return how often the stand-in failed, by fault."""
        return self._endpoint.stats().by_fault if self._endpoint is not None else {}

    def _signal_worker(self, number: signal.Signals) -> bool:
        """Signal a worker old enough that its host restarts it: quick deaths count as a bug, not a machine's fault."""
        workers = [pid for pid in workers_of(self._host) if age_of(pid) > QUICK_DEATH]
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._draw.choice(workers), number)
        return bool(workers)

    def _kill_connections(self, kind: str) -> bool:
        killed: Any = self._state.client_kill_filter(_type=kind, skipme=True)
        return int(killed) > 0

    def _double_messages(self) -> bool:
        """Send the message of every open job twice more, whether it is waiting, running or staged."""
        store = RunStore.open(self._state, self._run)
        keys = store.members("jobs")
        with self._state.pipeline(transaction=False) as pipe:
            for key in sorted(keys):
                pipe.hmget(store.job_key(key.decode()), "job", "state")
            found = pipe.execute()
        jobs = [_JOB.decode(job) for job, state in found if job is not None and state != b"held"]
        return self._publisher.publish(jobs + jobs) > 0

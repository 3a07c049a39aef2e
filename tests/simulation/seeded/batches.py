"""Batch files of the simulated model's endpoint, and what batches promise, checked at each step of theirs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from cogitate.memory import typed_json
from cogitate.scheduler.ledger.batches import Batch, Batches
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.llm.batch_files import BatchLine, BatchRefused, BatchStatus, BatchUnknown
from tests.simulation.seeded.actors import Actor, current
from tests.simulation.seeded.scene import RUN

if TYPE_CHECKING:
    from tests.simulation.seeded.cluster import Cluster

#: Of a batch as it is sent: weight of each.
OF_SENDING = {
    "batch refused": 1,
    "batch request lost": 2,
    "batch reply lost": 2,
    "worker killed after upload": 3,
}
#: Of a batch that was sent: what becomes of it.
OF_SENT = ("batch partial", "batch expired", "batch failed", "batch forgotten", "batch doubled", "batch with errors")
OF_BATCHES = (*OF_SENDING, *OF_SENT, "batch away", "batch cancelled")
SECONDS = (0.5, 3.0, 10.0)  # that a batch takes
TOO_LONG = 90.0  # seconds that one may take where hosts do not wait for ever


@dataclass
class SentBatch:
    """A batch that has arrived."""

    tag: str
    bodies: dict[str, dict[str, Any]]  # by name of the request
    ends: float
    fate: str  # one of `OF_SENT`; "": it answers all
    status: str = "in_progress"
    answered: list[str] = field(default_factory=list)


class BatchEndpoint:
    """The batches of one cluster's endpoint; workers die, it does not."""

    def __init__(self, seed: int, cluster: Cluster) -> None:
        self._draw = Random(seed ^ 0xBA7C4)
        self._cluster = cluster
        self._rate = self._draw.choice((0.0, 0.2, 0.5))
        self.batches: dict[str, SentBatch] = {}
        self.charged: Counter[str] = Counter()  # answers to each request

    def be_known(self, seconds: float) -> None:
        """Have taken so long for an earlier batch."""
        Batches(self._cluster.server.plain, worker="earlier").took("default", int(seconds))

    def has_open(self) -> bool:
        """Return whether a batch goes on."""
        return any(batch.status == "in_progress" for batch in self.batches.values())

    def has_sent(self) -> bool:
        """Return whether a batch goes on whose id the ledger has."""
        stored = RunStore.open(self._cluster.server.plain, RUN).values("batches") if self.has_open() else []
        return any(typed_json.decode(raw, Batch).id for raw in stored)

    def submit(self, actor: Actor, lines: Sequence[bytes], tag: str) -> BatchStatus:
        """Take a batch, or not."""
        fault = self._fault(list(OF_SENDING), list(OF_SENDING.values()))
        if fault == "batch refused":
            raise BatchRefused(fault)
        if fault == "batch request lost":
            raise BatchUnknown(fault)
        name = f"batch-{len(self.batches) + 1}"
        bodies = {found["custom_id"]: found["body"] for found in map(json.loads, lines)}
        alive = [batch for batch in self.batches.values() if batch.status != "cancelled"]
        before = [batch for batch in alive if not bodies.keys().isdisjoint(batch.bodies)]
        if before and not self._cluster.restarts:
            self._cluster.broken = AssertionError(f"requests of batch {before[0].tag} are in another one, too")
        ends = self._cluster.schedule.now + self._draw.choice(
            SECONDS if self._cluster.scene.patient else (*SECONDS, TOO_LONG)
        )
        self.batches[name] = SentBatch(tag, bodies, ends, self._fault(list(OF_SENT), [1] * len(OF_SENT)))
        if fault == "worker killed after upload":
            self._cluster.kill_worker_of(actor)
        if fault == "batch reply lost":
            raise BatchUnknown(fault)
        return self._status(name)

    def find(self, tag: str) -> BatchStatus | None:
        """Return the batch with this tag."""
        self._be_away()
        return next((self._status(name) for name, batch in self.batches.items() if batch.tag == tag), None)

    def poll(self, name: str) -> BatchStatus | None:
        """Return the state of a batch; None if it is forgotten."""
        self._be_away()
        batch = self.batches[name]
        if self._cluster.schedule.now >= batch.ends and batch.status == "in_progress":
            self._end(batch, batch.fate.removeprefix("batch ") if batch.fate in _ENDS else "completed")
        return None if batch.fate == "batch forgotten" and batch.status != "in_progress" else self._status(name)

    def cancel(self, name: str) -> None:
        """Cancel a batch that goes on; half of it is answered."""
        self._be_away()
        batch = self.batches[name]
        if batch.status == "in_progress":
            self._cluster.met["batch cancelled"] += 1
            self._end(batch, "cancelled")

    def read(self, name: str) -> Iterator[BatchLine]:
        """Yield what a batch answered, in another order."""
        self._be_away()
        batch = self.batches[name]
        for custom_id in sorted(batch.bodies, reverse=True):
            answered = custom_id in batch.answered
            if not answered and batch.fate != "batch with errors":
                continue
            line = BatchLine(custom_id, self._completion(batch.bodies[custom_id]) if answered else None)
            yield from [line] * (2 if batch.fate == "batch doubled" else 1)
            yield BatchLine("of nobody", line.completion)

    def _end(self, batch: SentBatch, status: str) -> None:
        batch.status = status
        names = sorted(batch.bodies)
        if status == "failed":
            names = []
        elif status != "completed" or batch.fate in ("batch partial", "batch with errors"):
            names = names[::2]
        batch.answered = names
        self.charged.update(names)

    def _completion(self, body: dict[str, Any]) -> bytes:
        usage = {"prompt_tokens": body["tokens"], "completion_tokens": 0}
        return json.dumps({"choices": [], "usage": usage, "key": body["key"]}).encode()

    def _status(self, name: str) -> BatchStatus:
        batch = self.batches[name]
        return BatchStatus(name, batch.status, (name,) if batch.status != "in_progress" else ())

    def _fault(self, names: list[str], weights: list[int]) -> str:
        if self._cluster.is_calm() or self._draw.random() >= self._rate:
            return ""
        fault = self._draw.choices(names, weights)[0]
        self._cluster.met[fault] += 1
        return fault

    def _be_away(self) -> None:
        if self._fault(["batch away"], [1]) and self._draw.random() < 0.5:
            raise BatchUnknown("batch away")


_ENDS = ("batch expired", "batch failed")


class SimulatedFiles:
    """Takes the place of the batch files of an endpoint, in every process of this Python."""

    def __init__(self, address: object) -> None:
        pass

    def submit(self, lines: Sequence[bytes], tag: str) -> BatchStatus:
        endpoint, actor = _reached()
        return endpoint.submit(actor, lines, tag)

    def find(self, tag: str) -> BatchStatus | None:
        return _reached()[0].find(tag)

    def poll(self, batch: str) -> BatchStatus | None:
        return _reached()[0].poll(batch)

    def cancel(self, batch: str) -> None:
        _reached()[0].cancel(batch)

    def read(self, status: BatchStatus) -> Iterator[BatchLine]:
        return _reached()[0].read(status.id)

    def remove(self, status: BatchStatus) -> None:
        """There is nothing to delete."""

    def close(self) -> None:
        """There is nothing to close."""


def _reached() -> tuple[BatchEndpoint, Actor]:
    """Return the endpoint after a while, and who asks it."""
    actor = current()
    assert actor is not None
    actor.at = "batch"
    actor.sleep(0.05)
    return actor.process._cluster.endpoint, actor  # type: ignore[attr-defined]


class WatchedBatches(Batches):
    """Makes sure that nothing which an endpoint has answered is given back or forgotten unpaid."""

    cluster: Cluster

    def release(self, run: str, incarnation: str, tokens: Sequence[str], hold: float) -> list[str]:
        answered = [name for name in self.cluster.endpoint.charged if name.partition("-")[0] in tokens]
        if answered and not self.cluster.restarts:
            self.cluster.broken = AssertionError(f"{answered[0]} is given back at no cost, but was answered in a batch")
        self.cluster.over.update(tokens)
        return super().release(run, incarnation, tokens, hold)

    def abandon(self, run: str, incarnation: str, tokens: Sequence[str], hold: float) -> None:
        self.cluster.over.update(tokens)
        super().abandon(run, incarnation, tokens, hold)

    def done(self, run: str, incarnation: str, tokens: Sequence[str], hold: float) -> None:
        plain = self.cluster.server.plain
        store = RunStore.of(plain, RUN, incarnation)
        for token in tokens:
            unpaid = plain.hexists(store.key("attempts"), token) or plain.hexists(store.key("lost"), token)
            if unpaid and not self.cluster.restarts:
                self.cluster.broken = AssertionError(f"attempt {token} of a batch is forgotten before it is charged")
        super().done(run, incarnation, tokens, hold)


class LoudLog:
    """Takes the place of the desk's logger: it fails the trial where the desk would only log an error."""

    def __getattr__(self, level: str) -> Any:
        def told(event: str, **fields: object) -> None:
            actor = current()
            if event == "batch.failed" and actor is not None:
                actor.process._cluster.broken = AssertionError(f"the desk failed: {fields}")  # type: ignore[attr-defined]

        return told


#: On the simulated clock: how long a desk is held, and what the script takes for the time.
SIMULATED_DESK = (
    (
        "local holder = redis.call('GET', run .. 'batch_desk')",
        "local now = tonumber(redis.call('GET', 'simulated:ms') or '0')\n"
        "local holder = redis.call('GET', run .. 'batch_desk')\n"
        "if tonumber(redis.call('GET', 'simulated:desk') or '0') <= now then holder = false end",
    ),
    (
        "redis.call('SET', run .. 'batch_desk', nonce, 'PX', milliseconds)",
        "redis.call('SET', run .. 'batch_desk', nonce)\n"
        "redis.call('SET', 'simulated:desk', now + tonumber(milliseconds))",
    ),
    ("redis.call('TIME')[1]", "string.format('%d', math.floor(now / 1000))"),
)

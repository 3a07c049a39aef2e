"""The attempts of a run whose requests wait for a batch file or are in one, and the desk that sends and reads batches.

A parked attempt needs no worker, because the ledger holds all of it before anything is sent. The worker process that
holds the run's desk sends the requests, records the batch, and hands out the answers. If that process dies, the next
one that looks takes over the desk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.scheduler.config.endpoints import Model
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger.claims import Claim
from cogitate.scheduler.ledger.connect import read_hash, server_time
from cogitate.scheduler.ledger.keys import (
    DELETED_BATCHES,
    Reply,
    batch_times_key,
    incarnation_key,
    new_nonce,
    run_base,
    script,
)
from cogitate.scheduler.ledger.run_store import RunStore, incarnation_of
from cogitate.tasks.job import Cost, JobKey

KEPT_TIMES = 10  # latest batches of an endpoint whose durations are stored
REFUSED = -1  # in place of a duration: the endpoint refused a batch


class Batched(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An attempt whose request waits for a batch or is in one."""

    job: str  # key
    due: int  # tick
    model: Model
    digest: str  # of the question; the answer serves no other question
    size: int  # bytes of the request
    reserved: Cost
    real_day: tuple[str, str]  # its reservation from the real day: date and token

    @property
    def key(self) -> JobKey:
        return JobKey.parse(self.job)


class Batch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A batch file at an endpoint."""

    endpoint: str
    at: int  # when it was sent, in seconds of the server's clock
    tokens: tuple[str, ...]  # of its attempts
    id: str = ""  # the endpoint's name for it; "": its arrival there is unknown
    cancelled: bool = False  # whether the endpoint was asked to cancel it


class Desk(NamedTuple):
    """The batches of a run, its batched attempts, and those of them whose jobs still wait."""

    tick: int
    status: str
    now: int  # seconds of the server's clock
    batches: dict[str, Batch]  # by tag
    batched: dict[str, Batched]  # by token
    waiting: frozenset[str]  # tokens


def custom_id(token: str, digest: str) -> str:
    """Return the name of a request in a batch file."""
    return f"{token}-{digest}"


def new_tag() -> str:
    """Return a name for a batch, by which its endpoint can find it."""
    return new_nonce()


class Batches:
    """One worker process's access to the batches of all runs. Thread-safe.

    Args:
        worker: the name under which the process beats.
    """

    def __init__(self, client: Redis, *, worker: str) -> None:
        self._client = client
        self._worker = worker
        self._nonce = new_nonce()
        self._park = script(client, "park")
        self._step = script(client, "batches")

    def park(self, claim: Claim, batched: Batched, line: bytes) -> bool:
        """Park an attempt for the next batch; return False if its request must be sent alone."""
        job = claim.job
        args: list[str | bytes] = [run_base(job.run), claim.incarnation, batched.job, claim.token]
        args += [msgspec.json.encode(batched), line]
        return bool(self._park(keys=[incarnation_key(job.run)], args=args))

    def has_any(self, run: str) -> str | None:
        """Return a run's incarnation if it has batches or batched attempts; None otherwise, or for another version."""
        incarnation = incarnation_of(self._client, run)
        if incarnation is None:
            return None
        store = RunStore.of(self._client, run, incarnation)
        if not self._client.exists(store.key("batched"), store.key("batches")):
            return None
        return incarnation if store.field("state", "schema") == str(SCHEMA).encode() else None

    def look(self, run: str, incarnation: str, hold: float) -> Desk | None:
        """Take or keep the desk for `hold` seconds, and return its state; None if another process holds it."""
        reply = self._do(run, incarnation, hold, "look")
        if reply is None:
            return None
        tick, status, now, batches, rows = reply
        batched = {rows[i].decode(): typed_json.decode(rows[i + 1], Batched) for i in range(0, len(rows), 3)}
        return Desk(
            tick=int(tick),
            status=status.decode(),
            now=int(now),
            batches={batches[i].decode(): typed_json.decode(batches[i + 1], Batch) for i in range(0, len(batches), 2)},
            batched=batched,
            waiting=frozenset(rows[i].decode() for i in range(0, len(rows), 3) if rows[i + 2]),
        )

    def record(self, run: str, incarnation: str, tag: str, batch: Batch, hold: float) -> bool:
        """Record a batch before sending it, or a change of it; return False if the desk is lost."""
        return self._do(run, incarnation, hold, "record", tag, msgspec.json.encode(batch)) is not None

    def lines(self, run: str, incarnation: str, tokens: Sequence[str], hold: float) -> list[bytes]:
        """Return the requests of these attempts; empty if the desk is lost."""
        return self._do(run, incarnation, hold, "lines", *tokens) or []

    def sent(self, run: str, incarnation: str, tag: str, batch: Batch, hold: float) -> bool:
        """Record that an endpoint has taken a batch; return False if the desk is lost."""
        return self._do(run, incarnation, hold, "sent", tag, msgspec.json.encode(batch), *batch.tokens) is not None

    def release(self, run: str, incarnation: str, tokens: Sequence[str], hold: float) -> list[str]:
        """Give attempts back at no cost, so their requests are sent alone; return those whose jobs have ended."""
        reply = self._do(run, incarnation, hold, "release", *tokens) if tokens else []
        return [token.decode() for token in reply or []]

    def abandon(self, run: str, incarnation: str, tokens: Sequence[str], hold: float) -> None:
        """Give these attempts up: each counts in full until its usage arrives, and its job can be claimed again."""
        if tokens:
            self._do(run, incarnation, hold, "abandon", *tokens)

    def done(self, run: str, incarnation: str, tokens: Sequence[str], hold: float) -> None:
        """Forget these settled attempts."""
        if tokens:
            self._do(run, incarnation, hold, "done", *tokens)

    def close(self, run: str, incarnation: str, tag: str, hold: float) -> None:
        """Forget a batch."""
        self._do(run, incarnation, hold, "close", tag)

    def of_deleted_runs(self) -> list[tuple[str, Batch, int]]:
        """Return each batch that a deleted run has left: its tag, the batch, and its age in seconds."""
        left = read_hash(self._client, DELETED_BATCHES)
        if not left:
            return []
        now = server_time(self._client, DELETED_BATCHES)[0]
        batches = ((tag.decode(), typed_json.decode(raw, Batch)) for tag, raw in sorted(left.items()))
        return [(tag, batch, max(0, now - batch.at)) for tag, batch in batches]

    def forget_deleted(self, tag: str) -> None:
        """Forget a batch of a deleted run."""
        self._client.hdel(DELETED_BATCHES, tag)

    def took(self, endpoint: str, seconds: int) -> None:
        """Record how long an endpoint took for a batch, or that it `REFUSED` one."""
        key = batch_times_key(endpoint)
        now = server_time(self._client, key)[0]
        with self._client.pipeline(transaction=True) as pipe:
            pipe.lpush(key, f"{now} {seconds}")
            pipe.ltrim(key, 0, KEPT_TIMES - 1)
            pipe.execute()

    def times(self, endpoint: str) -> list[tuple[int, int]]:
        """Return the latest batches of an endpoint, newest first: seconds since the end, and duration in seconds."""
        key = batch_times_key(endpoint)
        now = server_time(self._client, key)[0]
        times: Reply = self._client.lrange(key, 0, -1)
        pairs = (raw.decode().split(" ") for raw in times)
        return [(now - int(at), int(seconds)) for at, seconds in pairs]

    def _do(self, run: str, incarnation: str, hold: float, step: str, *args: str | bytes) -> Reply | None:
        given = [run_base(run), incarnation, self._nonce, int(hold * 1_000), self._worker, step, *args]
        reply: Reply | None = self._step(keys=[incarnation_key(run)], args=given)
        return reply

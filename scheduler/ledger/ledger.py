"""The host's side of the ledger: acquire a run, collect, advance, finish. Every step is fenced.

A step carries (epoch, holder nonce, sequence number). If its reply is lost, the client sends the identical bytes again
and the ledger answers "already"; any mismatch raises `Fenced`, and this host must stop.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import RedisError
from structlog.contextvars import bound_contextvars

from cogitate.scheduler.config.controls import read_asked
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.ledger.answer_times import read_claimed, read_timed
from cogitate.scheduler.ledger.connect import longest_block, why_keys_vanish
from cogitate.scheduler.ledger.errors import (
    Fenced,
    LedgerError,
    RunExists,
    RunMissing,
    RunRolledBack,
    RunUnreadable,
    wrong_schema,
)
from cogitate.scheduler.ledger.keys import RUNS, Reply, incarnation_key, new_nonce, run_base, script
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.step_replies import (
    Advanced,
    BoundaryInput,
    Collected,
    read_attempts,
    read_rows,
)
from cogitate.tasks.job import JobKey

if TYPE_CHECKING:
    from cogitate.scheduler.ledger.outage import Outage

Apply = Literal["due", "ready"]
Value = str | bytes | int

_encode = msgspec.json.Encoder().encode


class Write(NamedTuple):
    """One Redis command on a key of the run, executed as part of `advance`."""

    command: str
    key: str  # without the run's prefix
    args: tuple[Value, ...]
    shared: tuple[Value, ...] = ()  # additional arguments that are the same for many consecutive commands


class Records(NamedTuple):
    """Records of jobs that end with a tick, for a hash of the ledger; `lua/parts.lua` processes them."""

    name: str  # of the hash, without the run's prefix
    jobs: Sequence[tuple[JobKey, bytes]]


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One tick, in the form that `advance` writes."""

    tick: int
    line: bytes  # of the journal
    digest: str
    chain: str
    records: Sequence[Records]  # of jobs that end with it
    closed: Sequence[JobKey]
    windows: Sequence[tuple[str, int, int]]  # to delete: window, first and last enqueue tick whose jobs may name it
    writes: Sequence[Write]

    def as_json(self, apart: list[bytes]) -> tuple[Any, ...]:
        """Return the tick as JSON for the script; bytes that are not text are added to `apart`."""
        shared: list[list[Any]] = []
        writes: list[tuple[Any, ...]] = []
        last: tuple[Value, ...] = ()
        for command, key, args, common in self.writes:
            own = _as_json(args, apart)
            if not common:
                writes.append((command, key, own))
                continue
            if common is not last:
                shared.append(_as_json(common, apart))
                last = common
            writes.append((command, key, own, len(shared)))
        records = [
            (name, [(key.text(), *_as_json((record,), apart)) for key, record in jobs]) for name, jobs in self.records
        ]
        closed = [key.text() for key in self.closed]
        (line,) = _as_json((self.line,), apart)
        return self.tick, line, self.digest, self.chain, records, closed, self.windows, shared, writes


def _as_json(values: Iterable[Value], apart: list[bytes]) -> list[Any]:
    """Return values as JSON: text, numbers, and [n] for the n-th value that is not text."""
    return [_text(value, apart) if type(value) is bytes else value for value in values]


def _text(value: bytes, apart: list[bytes]) -> str | tuple[int]:
    try:
        return value.decode()
    except UnicodeDecodeError:
        apart.append(value)
        return (len(apart),)


class HostLedger:
    """The access of a host to the run that it holds.

    Each step raises `Fenced` if another host has taken the run; then nothing was written. Without an `outage`, a
    connection error is raised, and the caller may send the same step again.
    """

    outage: Outage | None = None
    workers_alive: Callable[[], int | None] | None = None  # for charts; None: not counted

    def __init__(self, client: Redis, run: str, incarnation: str, epoch: int, holder: str, seq: int) -> None:
        self.run = run
        self.incarnation = incarnation
        self.store = RunStore.of(client, run, incarnation)
        self.epoch = epoch
        self._holder = holder
        self._seq = seq
        self._tick = 0  # the last tick that this host has committed
        self._collect = script(client, "collect")
        self._advance = script(client, "advance")
        self._finish = script(client, "finish")
        self._present = script(client, "present")
        self._checkpoint = script(client, "checkpoint")
        self._trim = script(client, "trim")
        self._ask_ready = script(client, "ask_ready")
        self._carry_out = script(client, "carry_out")
        self._longest_block = longest_block(client)

    @classmethod
    def create(cls, client: Redis, run: str, *, state: dict[str, Value]) -> HostLedger:
        """Create a run.

        Args:
            state: the initial fields of its state; at least `settings`, as JSON.

        Raises:
            RunExists: if a run of this name exists.
        """
        return cls._acquire(client, run, "create", state)

    @classmethod
    def resume(cls, client: Redis, run: str) -> HostLedger:
        """Take over an existing run; from now on the ledger fences every other host of it.

        Raises:
            RunMissing: if no run of this name exists.
            NewerSchema, OlderSchema: if another version wrote it.
        """
        return cls._acquire(client, run, "resume", {})

    @classmethod
    def _acquire(cls, client: Redis, run: str, mode: str, state: dict[str, Value]) -> HostLedger:
        holder, host = new_nonce(), f"{platform.node()}:{os.getpid()}"
        fields: list[Value] = [part for pair in state.items() for part in pair]
        answer: list[bytes] = script(client, "acquire")(
            keys=[incarnation_key(run)], args=[run_base(run), mode, new_nonce(), holder, SCHEMA, host, *fields]
        )
        match answer[0]:
            case b"exists":
                raise RunExists(
                    f"run {run!r} exists already: resume it "
                    '(exist="resume"), replace it (exist="replace"), or choose another name'
                )
            case b"none":
                raise RunMissing(f"there is no run {run!r} to resume; `cogitate runs` lists all runs")
            case b"unreadable":
                raise RunUnreadable(run, "its schema is not a number")
            case b"schema":
                raise wrong_schema(run, int(answer[1]))
        client.sadd(RUNS, run)
        return cls(client, run, answer[1].decode(), int(answer[2]), holder, int(answer[3]))

    def collect(self, tick: int, apply: Apply, expired: Sequence[str] = ()) -> Collected | None:
        """Return the results due at `tick`, and expire the attempts in `expired`; None while the ledger is away."""
        if self.away:
            return None
        with bound_contextvars(run=self.run, tick=tick):
            answer = self._step(self._collect, [tick, apply, *expired])
            if answer is None:
                return None
            rows, attempts, beats, unclaimed, *shown = answer
            return Collected(
                boundary=self._boundary(rows, *shown),
                attempts=read_attempts(attempts),
                beats={beats[i].decode(): int(beats[i + 1]) for i in range(0, len(beats), 2)},
                unclaimed=sorted(key.decode() for key in unclaimed),
            )

    def advance(self, commit: Commit, apply: Apply, before: Sequence[Commit] = ()) -> Advanced | None:
        """Commit one tick; return None if this commit had arrived before, or is buffered.

        Args:
            before: earlier ticks that the same step commits.
        """
        apart: list[bytes] = []
        ticks = _encode([tick.as_json(apart) for tick in (*before, commit)])
        with bound_contextvars(run=self.run, tick=commit.tick):
            answer = self._step(self._advance, [apply, ticks, *apart])
            self._tick = commit.tick
            if not answer:
                return None
            rows, deleted, *shown = answer
            return Advanced(self._boundary(rows, *shown), [raw.decode() for raw in deleted])

    @staticmethod
    def _boundary(rows: list[bytes], controls: list[bytes], timed: list[bytes], shown: list[Any]) -> BoundaryInput:
        """Parse the part of a step's reply about the next boundary; the parameters are in the scripts' order."""
        return BoundaryInput(
            rows=read_rows(rows),
            controls=read_asked(controls),
            timed=read_timed(timed),
            claimed=read_claimed(timed),
            shown={shown[i].decode(): shown[i + 1] for i in range(0, len(shown), 2)},
        )

    def checkpoint(self, tick: int, streams: Mapping[str, bytes], *, entry: bytes = b"", chain: str = "") -> None:
        """Write streams of the journal's checkpoint at the committed tick; a call with `entry` completes it.

        Args:
            streams: owner -> its stream, packed.
            entry: the chained entry.
            chain: the chain after the entry.
        """
        self._step(self._checkpoint, [tick, entry, chain, *(part for pair in streams.items() for part in pair)])

    def trim(self, tick: int) -> None:
        """Remove the journal's lines up to a tick that has a checkpoint, and all earlier checkpoints."""
        self._step(self._trim, [tick])

    def finish(self, status: Literal["finished", "stopped", "cancelled"]) -> None:
        """Confirm that this host still holds the run, and record the status with which it leaves.

        Raises:
            Fenced: if another host has taken the run meanwhile.
            LedgerUnavailable: if not all of its ticks could be written.
        """
        if self.outage is not None:
            self.outage.settle()
        if self._step(self._finish, [status]) is None and self.outage is not None:
            self.outage.settle()

    def carry_out(self, *writes: Write) -> None:
        """Execute commands at once, unless another host has taken the run or the ledger is away."""

        args: list[Value] = [self.store.prefix, self.epoch, self._holder]
        for write in writes:
            args += (write.command, write.key, len(write.args), *write.args)

        def send() -> Any:  # no error if another host has the run: the next step raises it
            return self._carry_out(keys=[self.store.key("state")], args=args)

        if self.outage is None:
            send()
        else:
            self.outage.read(send)

    def ask_ready(self, keys: Sequence[JobKey]) -> None:
        """Register trial hints with these keys, and forget any others."""
        self._step(self._ask_ready, [key.text() for key in keys])

    def answered(self, keys: Sequence[JobKey]) -> set[JobKey]:
        """Return the trial hints among these that a worker has answered; none while the ledger is away."""
        if self.away or not keys:
            return set()
        try:
            states = self.store.some_fields("readiness", *(key.text() for key in keys))
        except RedisError as error:
            if self.outage is None:
                raise
            self.outage.missed(error)
            return set()
        return {key for key, state in zip(keys, states, strict=True) if state == b"answered"}

    def present(self, sign: bytes, seconds: float) -> bool:
        """Send a heartbeat that is valid for `seconds`; return whether this host has the run.

        It also lists the run again, because the server with the list may have lost it.

        Raises:
            RedisError: if the ledger cannot be reached.
        """
        args: list[Value] = [self.store.prefix, self.epoch, self._holder, sign, round(seconds * 1000)]
        held = bool(self._present(keys=[self.store.key("state")], args=args))
        if held and not self.client.sismember(RUNS, self.run):  # a full server refuses to add even existing members
            self.client.sadd(RUNS, self.run)
        return held

    def let_go(self, status: Literal["finished", "stopped", "cancelled"]) -> None:
        """Record the status with which this host leaves the run after an error; do nothing if it has lost the run.

        Raises:
            Fenced: if another host takes the run at this moment.
            RedisError: if the ledger cannot be reached; there is only one try.
        """
        if self.away:
            return
        epoch, holder, seq = self.store.state("epoch", "holder", "seq")
        if (epoch, holder) != (str(self.epoch).encode(), self._holder.encode()) or seq is None:
            return
        self._seq, self.outage = int(seq), None  # the interrupted step may or may not have arrived
        self._step(self._finish, [status])

    def go_on(self) -> None:
        """Unpause a run: workers may claim its jobs again."""
        self._step(self._finish, ["running"])

    def wait_asked(self, timeout: float) -> None:
        """Sleep until an operator sends a request, for at most `timeout` seconds."""
        self._block("knock", timeout)

    def wait_ready(self, due: int, timeout: float) -> bool:
        """Sleep until every result due at tick `due` has arrived, at most `timeout` seconds; return whether it has."""
        return self._block(f"ready:{due}", timeout)

    def _block(self, key: str, timeout: float) -> bool:
        seconds = min(max(timeout, 0.01), self._longest_block)
        if self.away:
            time.sleep(seconds)  # as long as the pop would have waited
            return False
        try:
            return self.client.blpop([self.store.prefix + key], timeout=seconds) is not None
        except RedisError as error:
            if self.outage is None:
                raise
            self.outage.missed(error)
            return False

    @property
    def client(self) -> Redis:
        """Return the client of the run's server."""
        return self.store.client

    @property
    def lost(self) -> float:
        """Return the total seconds that the host has waited for its ledger."""
        return self.outage.lost if self.outage is not None else 0.0

    @property
    def away(self) -> bool:
        """Return whether the host continues without its ledger."""
        return self.outage is not None and not self.outage.back()

    def _step(self, lua: Script, args: Sequence[Value]) -> Reply | None:
        encoded = [arg if type(arg) is bytes else str(arg).encode() for arg in args]
        digest, size = _fingerprint(encoded)
        seq = self._seq
        fenced: list[Value] = [self.store.prefix, self.epoch, self._holder, seq, digest, *encoded]

        def step() -> Reply:
            answer: Reply = lua(keys=[self.store.key("state")], args=fenced)
            if answer[0] not in (b"ok", b"already"):
                raise self._refused(answer, seq)
            return answer[1:]

        self._seq += 1
        try:
            return step() if self.outage is None else self.outage.send(step, size)
        except (RedisError, LedgerError):
            self._seq = seq  # so that the caller may send the same step again
            raise

    def _refused(self, answer: list[bytes], seq: int) -> LedgerError:
        if answer[0] == b"fenced" and int(answer[1]) == self.epoch and int(answer[2]) < seq:
            tick = self.store.field("state", "tick")
            return RunRolledBack(
                f"run {self.run!r}: the ledger has lost committed steps: it is at tick {int(tick or 0)}, this host is "
                f"at tick {self._tick}; the host stops, and the world resumes from the ledger's tick"
            )
        if answer[0] == b"gone":
            return Fenced(
                f"run {self.run!r}: the server has lost it, or it was deleted; this host stops"
                f"{why_keys_vanish(self.client)}"
            )
        return Fenced(
            f"run {self.run!r}: another host has taken it; this host stops "
            f"(epoch {self.epoch}, step {seq}; the ledger says {[str(part, 'ascii') for part in answer]})"
        )


def _fingerprint(args: Sequence[bytes]) -> tuple[str, int]:
    """Return the digest of a step's arguments, by which the ledger recognises a repeated step, and their size."""
    sent = b"\0".join(args)
    return hashlib.blake2b(sent, digest_size=16).hexdigest(), len(sent)

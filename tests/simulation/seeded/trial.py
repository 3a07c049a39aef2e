"""One seed: a disturbed run, and everything that must be true of it afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cogitate.memory import typed_json
from cogitate.memory.clock import day_of
from cogitate.scheduler.engine.corrections import read_learned, read_retries
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.snapshot import take_snapshot
from cogitate.scheduler.inspection.summary import usage_by_owner
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import JournalError, ReadLine
from cogitate.scheduler.ledger.answer_times import Overdue
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import JobKey
from tests.simulation.seeded.cluster import Cluster
from tests.simulation.seeded.faults import Coverage
from tests.simulation.seeded.forked import check_fork
from tests.simulation.seeded.operators import Asked, asked_of
from tests.simulation.seeded.processes import Broken
from tests.simulation.seeded.scene import RUN, Scene
from tests.simulation.seeded.server import Server
from tests.simulation.seeded.undisturbed import FORCED, Ends, Times, forced_ends, times_of, undisturbed_digest

LEAST_STEPS = 200  # of one seed: points at which something may go wrong
LEAST_OWNERS = 3


class TooLittle(AssertionError):
    """A seed is too small to show anything."""


class Trial(NamedTuple):
    """The result of a seed."""

    seed: int
    digest: str
    steps: int
    coverage: Coverage
    forced: int  # jobs that ended dead, failed or late
    met: Counter[str]  # faults of packed requests


def any_scene(scene: Scene) -> bool:
    """Return True: every scene will do."""
    return True


class Trials:
    """Tries seeds on one server. What undisturbed runs came to is remembered: it depends on nothing but its inputs."""

    def __init__(self, server: Server, focus: Sequence[str] = (), wanted: Callable[[Scene], bool] = any_scene) -> None:
        """Prepare; seeds whose scene is not `wanted` are too little."""
        self._server = server
        self._focus = focus
        self._wanted = wanted
        self._digests: dict[tuple[int, bool, Ends, Times, tuple[Asked, ...]], str] = {}

    def run(self, seed: int) -> Trial:
        """Try one.

        Raises:
            Broken, or whatever the product has raised: saying what was wrong.
            TooLittle: when nothing was wrong, but too little happened.
        """
        self._server.clear()
        cluster = Cluster(seed, self._server, self._focus)
        if not self._wanted(cluster.scene):
            raise TooLittle("its scene cannot show what is looked for")
        cluster.live()
        plain = self._server.plain
        store = RunStore.open(plain, RUN)
        told: Any = plain.hmget(store.key("state"), "tick", "digest")
        tick, digest = (raw.decode() for raw in told)
        if int(tick) != cluster.scene.ticks:
            raise Broken(f"the host has finished the run at tick {tick}")
        if cluster.standing()[0] == "finished" and plain.exists(store.key("host")):  # another may have resumed it since
            raise Broken("the run is over, but its host's heartbeat remains")
        if problems := audit(plain, RUN):
            raise Broken("; ".join(problems[:3]))
        lines = list(read_journal(store, 1, cluster.scene.ticks))
        self._check_ends(cluster, lines)
        self.check_charges(store)
        self._check_times(lines)
        check_fork(cluster.scene, plain, 1 + seed % cluster.scene.ticks)
        try:
            replay(plain, RUN, self._server.beside)
        except JournalError as error:
            raise Broken(f"replay: {error}") from error
        ends: Ends = frozenset()
        if cluster.scene.promises_equality:
            ends = forced_ends(lines, all_usage=cluster.varied_usage)
            expected = self._undisturbed(cluster, ends, times_of(lines), asked_of(lines))
            if digest != expected:
                raise Broken(f"the digest is {digest}, of the undisturbed run {expected}")
        self._check_size(cluster, lines)
        forced = sum(end.reason in FORCED for _, end in ends)
        return Trial(seed, digest, cluster.steps, cluster.coverage, forced, cluster.met)

    def _undisturbed(self, cluster: Cluster, ends: Ends, times: Times, asked: tuple[Asked, ...]) -> str:
        key = (cluster.scene.number, cluster.scene.story, ends, times, asked)
        if key not in self._digests:
            self._server.clear()
            self._digests[key] = undisturbed_digest(cluster.scene, self._server.plain, ends, times, asked)
            if len(self._digests) > 10_000:
                self._digests.clear()
        return self._digests[key]

    @staticmethod
    def _check_ends(cluster: Cluster, lines: list[ReadLine]) -> None:
        for line in lines:
            for ended, note in zip(line.core.ended, line.notes.ended, strict=True):
                where = f"tick {line.core.tick}: job {ended.key.text()}"
                if ended.reason == "late" and cluster.scene.patient:
                    raise Broken(f"{where} was late, but the host waits for ever")
                if note.attempts > cluster.tried[f"{RUN}/{ended.key.text()}"]:
                    raise Broken(f"{where} is said to have had {note.attempts} attempts, more than were claimed")

    @staticmethod
    def _check_times(lines: list[ReadLine]) -> None:
        seen: set[JobKey] = set()
        for tick, fact in times_of(lines):
            if isinstance(fact, Overdue):
                continue
            where = f"tick {tick}: the answer to job {fact.key.text()}"
            if fact.key in seen:
                raise Broken(f"{where} was timed before")
            if fact.ticks > tick - fact.key.tick:
                raise Broken(f"{where} is said to have taken {fact.ticks} ticks")
            seen.add(fact.key)

    def check_charges(self, store: RunStore) -> None:
        """Check that what was spent is charged to owners, but for what is not known or waits to be journalled."""
        plain = self._server.plain
        ledger = take_snapshot(store)
        tokens = sum(cost.tokens for cost in usage_by_owner(plain, RUN).values())
        status: Any = plain.hget(store.key("state"), "status")
        held = status.decode() in HELD  # a host may take a run that is over: readers leave to it what lies there
        retries = read_retries(_flat(plain.hgetall(store.key("retries"))), [])
        tokens += sum(retry.used.tokens for retry in retries if held or retry.key.text() in ledger.jobs)
        if held:
            learned = read_learned(_flat(plain.hgetall(store.key("corrections"))), [])
            tokens += sum(known.usage.tokens for known in learned if not known.saved)
        tokens += sum(attempt["reserved"][1] for attempt in ledger.lost.values())
        running = {*ledger.attempts, *ledger.lost}
        for record in ledger.jobs.values():
            if int(record[b"claims"]) and record[b"latest"].decode() not in running:
                tokens += typed_json.decode(record[b"last"])[1]
        spent = ledger.accounts.get(("run:0", "run", "tokens"), {}).get("spent", 0)
        if tokens != spent:
            raise Broken(f"{spent} tokens were spent, and {tokens} are charged to owners or may be yet")

    @staticmethod
    def _check_size(cluster: Cluster, lines: list[ReadLine]) -> None:
        owners = sum(len(line.core.joined) for line in lines)
        days = {day_of(line.core.minute) for line in lines}
        if cluster.steps < LEAST_STEPS or owners < LEAST_OWNERS or len(days) < 2:
            raise TooLittle(f"a seed of {cluster.steps} steps, {owners} owners and {len(days)} days shows too little")


def _flat(found: Any) -> list[bytes]:
    """Return the fields and values of a hash as the ledger's scripts answer them."""
    return [part for pair in found.items() for part in pair]

"""Hosts and workers of the simulated cluster: the product's own, with the simulated clock, broker and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from redis.exceptions import RedisError

from cogitate.hosting.tick_loop import TickLoop
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.engine.open_jobs import OpenJob
from cogitate.scheduler.intake.kind_effects import KindEffects
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.claims import Claim, Claims, Refusal, Result, Settled
from cogitate.scheduler.ledger.errors import Fenced, LedgerError
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.presence import SIGNS_A_LEASE
from cogitate.scheduler.ledger.step_replies import Collected
from cogitate.scheduler.tick.result_collector import Leases, ResultCollector
from cogitate.tasks.job import Cost
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.runner import Runner
from tests.simulation.seeded.actors import NEVER, Actor, Process, current
from tests.simulation.seeded.batches import WatchedBatches
from tests.simulation.seeded.scene import LEASE, RUN
from tests.simulation.seeded.world import world_of

if TYPE_CHECKING:
    from tests.simulation.seeded.cluster import Cluster

T = TypeVar("T")

SIGN = 3_600.0  # seconds after which a heartbeat expires: the server's clock is a real one


class Broken(AssertionError):
    """The simulator saw a promise broken."""


class HostProcess(Process):
    """One host, from its start until it has finished the run, is fenced, or dies."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        super().__init__(cluster.schedule, name)
        self._cluster = cluster
        self._restarts = cluster.restarts
        self.main = self.spawn(self._live)

    def _live(self) -> None:
        try:
            loop = self._run()
            if loop.tick == self._cluster.scene.ticks:
                self._cluster.finished = self._is_over(loop.ledger.epoch)
        except (LedgerError, RedisError):
            pass  # whoever supervises hosts starts another if there is none
        except JournalError as error:  # what it was reading may have been forgotten meanwhile
            if self._cluster.restarts == self._restarts:
                self._cluster.broken = error
        except Exception as error:
            self._cluster.broken = error
        finally:
            self.alive = False

    def _is_over(self, epoch: int) -> bool:
        """Return whether the run that this host has finished is so.

        The end may be forgotten as soon as it was confirmed, or another host may have taken the run: then one goes on.
        """
        status, latest = self._cluster.standing()
        if status != "finished" and latest == epoch and self._cluster.restarts == self._restarts:
            raise Broken(f"the host has finished a run that is {status}")
        return status == "finished"

    def _run(self) -> TickLoop:
        cluster = self._cluster
        scene = cluster.scene
        settings = scene.settings
        resume = bool(cluster.client.exists(incarnation_key(RUN)))
        world = world_of(scene)
        loop = TickLoop(
            run=RUN,
            owners=world.owners(),
            settings=settings,
            locations=world.locations,
            brief=world.brief,
            ticks=scene.ticks,
            start_minute=scene.start,
            event_types=world.event_types,
            exist="resume" if resume else "create",
            inline=True,
            client=cluster.client,
        )
        waiting = ResultCollector(
            loop.ledger,
            cluster.broker.publish,
            apply=settings.apply,
            wait=settings.wait_seconds(),
            lease=LEASE,
            hint_interval=settings.tuning.hint_interval,
            pace=loop._loop.pace,
            awaited=loop.state.latencies.awaited,
            clock=cluster.clock,
        )
        waiting._leases = WatchedLeases(cluster)
        loop._loop.collector = waiting
        self._take_time_for_heuristics(loop)
        if settings.tick_rate is not None:
            loop._loop._committer.send_commit = lambda commit: Meanwhile(self, commit)
        self.spawn(lambda: self._be_present(loop.ledger))
        if loop.restored is not None:
            world.load(loop.restored)
        try:
            for tick in loop:
                world.live(loop, tick)
        except Fenced:
            if not cluster.restarts and cluster.standing()[1] == loop.ledger.epoch:
                raise Broken("a host was fenced although nobody has taken its run") from None
            raise
        return loop

    def _take_time_for_heuristics(self, loop: TickLoop) -> None:
        """Have heuristics in idle time take some of it: all, some or none of them are there at a boundary."""
        state, make = loop.state, loop.state.without_model

        def slowly(item: OpenJob) -> KindEffects:
            self.main.at = "idle"
            self.main.sleep(self._cluster.heuristic_seconds())
            return make(item)

        state.without_model = slowly  # type: ignore[method-assign]

    def _be_present(self, ledger: HostLedger) -> None:
        """Send heartbeats, as `cogitate.scheduler.ledger.presence.Presence` does in a thread."""
        actor = current()
        assert actor is not None
        has_run = True
        while has_run and self.main:
            with suppress(RedisError):
                has_run = ledger.present(b"%d" % ledger.epoch, SIGN)
                self._cluster.check_sign()
            actor.sleep(LEASE / SIGNS_A_LEASE)


class Meanwhile(Generic[T]):
    """A commit that another thread of its host carries out, as `cogitate.scheduler.tick.commit.CommitThread`
    does."""

    def __init__(self, host: HostProcess, commit: Callable[[], T]) -> None:
        self._commit = commit
        self._outcome: tuple[T] | Exception | None = None
        self._reader: Actor | None = None
        host.spawn(self._carry_out)

    def _carry_out(self) -> None:
        try:
            self._outcome = (self._commit(),)
        except Exception as error:
            self._outcome = error
        if self._reader is not None:
            self._reader.wakes = 0.0

    def result(self) -> T:
        """Wait for the reply on the simulated clock."""
        while self._outcome is None:
            self._reader = current()
            assert self._reader is not None
            self._reader.at = "reply"
            self._reader.pause(NEVER)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome[0]


class WatchedLeases(Leases):
    """Makes sure that no lease runs out before its time on the one clock that counts."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(LEASE)
        self._cluster = cluster
        self._heard: dict[str, tuple[int, float]] = {}  # token -> its worker's heartbeat, and when it was first seen

    def watch(self, collected: Collected, now: float) -> list[str]:
        present = self._cluster.schedule.now
        heard = {}
        for token, attempt in collected.attempts.items():
            beat = collected.beats.get(attempt.worker, 0)
            before = self._heard.get(token)
            heard[token] = before if before is not None and before[0] == beat else (beat, present)
        self._heard = heard
        expired = super().watch(collected, now)
        for token in expired:
            quiet = present - heard[token][1]
            if quiet <= LEASE:
                raise Broken(f"a lease ran out {quiet:.2f} seconds after its worker was heard of")
        self._cluster.over.update(expired)
        return expired


class WatchedClaims(Claims):
    """Makes sure that attempts of one job follow one another, and that only the newest stages a result."""

    cluster: Cluster

    def claim(self, job_id: str, held: str = "") -> Claim | Refusal:
        cluster, actor = self.cluster, current()
        assert actor is not None
        sent = actor.sent
        refused = False
        try:
            claim = super().claim(job_id, held)
            refused = not isinstance(claim, Claim)
        finally:
            cluster.tried[job_id] += actor.sent - sent - refused
        if not isinstance(claim, Claim):
            return claim
        tokens = cluster.tokens.setdefault(job_id, {})
        if held:  # the answer of a batch has come to an attempt that goes on
            return claim
        if claim.token in cluster.over:  # its lease had run out before the worker read the answer
            tokens[claim.token] = claim.number
            return claim
        if not cluster.restarts:
            if not cluster.over.issuperset(tokens):
                raise Broken(f"{job_id} was handed out while another attempt runs")
            if job_id in cluster.staged:
                raise Broken(f"{job_id} was handed out although its result is staged")
        tokens[claim.token] = claim.number
        return claim

    def settle(self, claim: Claim, result: Result | None, used: Cost, failure: str = "") -> Settled:
        cluster, job_id = self.cluster, claim.job.id
        cluster.over.add(claim.token)
        settled = super().settle(claim, result, used, failure)
        if settled == "staged":
            cluster.staged.add(job_id)
            if claim.number < max(cluster.tokens[job_id].values()) and not cluster.restarts:
                raise Broken(f"{job_id}: a stale attempt has staged its result")
        return settled


class WorkerProcess(Process):
    """One worker with a few threads for jobs and one that beats."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        super().__init__(cluster.schedule, name)
        self._cluster = cluster
        self._claims = WatchedClaims(cluster.client, worker=name)
        self._claims.cluster = cluster
        beat = SimulatedHeartbeat(self, self._claims, cluster)
        settings = cluster.scene.settings
        batches = WatchedBatches(cluster.client, worker=name) if cluster.scene.batches else None
        self._runner = Runner(cluster.client, self._claims, beat, settings, batches=batches)
        if batches is not None and self._runner.desk is not None:
            batches.cluster = cluster
            self.spawn(self._runner.desk.start)
        for _ in range(6 if cluster.scene.packs else 2):  # calls of one process can be packed
            self.spawn(self._work)

    def set_older(self, older: bool) -> None:
        """Be of a version that cannot read what this run writes."""
        self._claims._schema = SCHEMA - 1 if older else SCHEMA

    def _work(self) -> None:
        actor = current()
        assert actor is not None
        try:
            while True:
                actor.at = "idle"
                job_id = self._cluster.broker.take(actor)
                try:
                    self._runner.run(job_id)
                except RedisError:
                    continue  # its message is gone; the host repeats it
        except Exception as error:
            self._cluster.broken = error


class SimulatedHeartbeat(Heartbeat):
    """The heart of one worker, beating on the simulated clock."""

    def __init__(self, process: WorkerProcess, claims: Claims, cluster: Cluster) -> None:
        super().__init__(claims.beat, LEASE / 5)
        self._cluster = cluster
        self._runs: Counter[tuple[str, str]] = Counter()
        self._heart = process.spawn(self._live)

    @contextmanager
    def of(self, run: str, incarnation: str) -> Iterator[None]:
        self._runs[run, incarnation] += 1
        self._heart.wakes = min(self._heart.wakes, self._cluster.schedule.now + self._interval)
        try:
            yield
        finally:
            self._runs[run, incarnation] -= 1

    def _live(self) -> None:
        while True:
            busy = [key for key, jobs in self._runs.items() if jobs]
            if not busy:
                self._heart.pause(NEVER)
                continue
            for run, incarnation in busy:
                try:
                    self._beat(run, incarnation)
                except RedisError:
                    continue
            self._heart.sleep(self._interval)

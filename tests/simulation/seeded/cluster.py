"""A run under a seed: who takes the next step, and what goes wrong between two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import cycle, islice
from random import Random
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.scheduler.ledger.run_store import RunStore, run_exists
from cogitate.tasks.job import Cost
from cogitate.workers.llm.replies.failures import FAILURE_KINDS
from tests.simulation.seeded.actors import NEVER, STEP, Actor, Process, Schedule, current
from tests.simulation.seeded.batches import BatchEndpoint
from tests.simulation.seeded.broker import Broker
from tests.simulation.seeded.faults import CANCELS, OF_REQUESTS, Coverage, JobStates, Rates
from tests.simulation.seeded.forked import check_fork
from tests.simulation.seeded.model import OF_ITEMS, Outcome
from tests.simulation.seeded.operators import Operator
from tests.simulation.seeded.processes import Broken, HostProcess, WorkerProcess
from tests.simulation.seeded.scene import LEASE, RUN, SCENES, SOME_TIME, STORY_EVERY, scene_of_seed
from tests.simulation.seeded.server import Server
from tests.simulation.seeded.wire import SOCKET_TIMEOUT, SimulatedConnection

WORKERS = 2
CALM_AFTER = 300  # steps after which nothing goes wrong any more but while a host finishes the run
CALM_AFTER_PACKS = 1_200  # the same where calls are packed or in batch files: runs are longer, and packs grow late
MOST_STEPS = 6_000  # a run that needs more does not end
FORKS_BEFORE = 200  # steps within which a fork of the unfinished run is made
DAY = 86_400.0
#: What may go wrong with a request that asks several cases: each class of failure, what is of any request, and items.
OF_PACKS = (*FAILURE_KINDS, *OF_REQUESTS, *OF_ITEMS)


class Cluster:
    """Hosts, workers, broker, model, clock and wire of one seed."""

    def __init__(self, seed: int, server: Server, focus: Sequence[str] = ()) -> None:
        self._draw = draw = Random(seed)
        self.scene = scene_of_seed(seed, draw.randrange(SCENES))
        self.rates = Rates(draw, focus)
        self.varied_usage = draw.random() < 0.1  # what attempts of one job cost differs
        self.schedule = Schedule(Random(seed ^ 0x5EED), self)
        self.server = server
        self.client = server.client
        self.broker = Broker(self.schedule, draw)
        self.endpoint = BatchEndpoint(seed, self)
        self._operator = Operator(seed, server.plain, frequent=CANCELS in focus)
        self.finished = False
        self.broken: Exception | None = None
        self.restarts = 0
        self._signed = 0  # the epoch of the host that sent the last heartbeat
        self.coverage: Coverage = Counter()
        first = 2 * seed // STORY_EVERY % len(FAILURE_KINDS)
        self._of_packs = islice(cycle(FAILURE_KINDS), first, None)  # each class in turn, over seeds
        self.met: Counter[str] = Counter()  # faults of requests that ask several cases, and of batches
        self.tried: Counter[str] = Counter()  # claims of each job that may have been granted
        self.tokens: dict[str, dict[str, int]] = {}  # of each job: token -> the number of its attempt
        self.over: set[str] = set()  # tokens of attempts that settle or whose lease has run out
        self.staged: set[str] = set()  # jobs
        self._states = JobStates(server.plain)
        self._hosts: list[HostProcess] = []
        self._workers: list[WorkerProcess] = []
        self._born = 0
        self.steps = 0
        self._host_due = 0.0
        self._stalled_until = 0.0
        self._restart_at: int | None = None  # step
        self._over = False
        self._landing: list[tuple[float, list[bytes]]] = []  # calls that nobody waits for any more
        self._older_until = 0
        self._wall_jump = 0.0
        self._deadly: set[int] = set()  # prompts whose request kills the worker
        self._dying: Process | None = None  # the worker that such a request kills now
        self._forks_at = Random(f"fork {seed}").randrange(FORKS_BEFORE)  # step, or the first one with a tick after it

    # -- the run -------------------------------------------------------------------------------------

    def live(self) -> None:
        """Let the run go on to its end.

        Raises:
            Broken: when something happens that must not, or nothing does.
        """
        SimulatedConnection.network = self
        try:
            if self.scene.batches and not self.scene.patient:
                self.endpoint.be_known(SOME_TIME / 3)
            for _ in range(1 if self.scene.packs else WORKERS):  # jobs of one process meet in packs
                self._new_worker()
            while not self.finished:
                self._step()
            self._afterwards()
        finally:
            for process in (*self._hosts, *self._workers):
                process.kill()
            SimulatedConnection.network = None

    def live_until_deleted(self) -> bool:
        """Delete the run while a batch is open, with its workers killed; return whether there was one.

        Raises:
            Broken: if the batch is not cancelled.
        """
        SimulatedConnection.network = self
        try:
            self._new_worker()
            while not self.finished and not self.endpoint.has_sent():
                self._step()
            if self.finished:
                return False
            for process in (*self._hosts, *self._workers):
                process.kill()
            self._workers.clear()
            self._host_due, self._over = NEVER, True
            for batch in self.endpoint.batches.values():
                batch.ends = NEVER
            delete_run(self.server.plain, RUN, force=True)
            self._new_worker()
            while self.endpoint.has_open():
                self._step()
            return True
        finally:
            for process in (*self._hosts, *self._workers):
                process.kill()
            SimulatedConnection.network = None

    def standing(self) -> tuple[str, int]:
        """Return the run's status in the ledger, and the epoch of the host that holds it."""
        plain = self.server.plain
        told: Any = plain.hmget(RunStore.open(plain, RUN).key("state"), "status", "epoch")
        return told[0].decode(), int(told[1])

    def check_sign(self) -> None:
        """Check that the heartbeat is not of a host before the last that sent one."""
        plain = self.server.plain
        if self.restarts and not plain.exists(incarnation_key(RUN)):
            return  # the server was set back to before the run was created
        sign: Any = plain.get(RunStore.open(plain, RUN).key("host"))
        if sign is not None:
            if int(sign) < self._signed and not self.restarts:
                raise Broken(f"the host of epoch {int(sign)} sends heartbeats, and that of epoch {self._signed} did")
            self._signed = int(sign)

    def clock(self) -> float:
        """Return the time of the hosts' monotonic clock."""
        return self.schedule.now

    def wall(self) -> float:
        """Return the machines' wall-clock time: it jumps, and nothing may depend on it."""
        return self.schedule.now + self._wall_jump

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Broken(f"no end after {MOST_STEPS} steps")
        schedule = self.schedule
        schedule.now += STEP
        self._hosts = [host for host in self._hosts if host.alive]
        if not self._hosts and schedule.now >= self._host_due:
            self._new_host()
        if self._landing:
            self._land()
        if self._restart_at is not None and self.steps >= self._restart_at:
            self._restart()
        if not self.is_calm():
            fault = self.rates.between_steps(self._draw)
            if fault is not None:
                self._happen(fault)
            if self._operator.acts() and self._operator.cancel():
                self._note(CANCELS)
        elif self._older_until:
            self._set_older(False)
        ready = schedule.ready()
        if ready:
            ready[int(self._draw.random() * len(ready))].switch()
        else:
            due = schedule.next_instant()
            if not any(host.alive for host in self._hosts):
                due = min(due, self._host_due)
            if due == NEVER:
                raise Broken("everybody waits for somebody else")
            schedule.now = max(schedule.now, due)
        if self._dying is not None:
            self._kill_worker(next(worker for worker in self._workers if worker is self._dying))
            self._dying = None
        if self.broken is not None:
            raise self.broken
        if self.steps >= self._forks_at and run_exists(self.server.plain, RUN):
            reached = RunStore.open(self.server.plain, RUN).tick()
            if reached:
                self._forks_at = MOST_STEPS + 1
                check_fork(self.scene, self.server.plain, 1 + self.steps % reached)

    def _afterwards(self) -> None:
        """Let workers finish their work after the run is over."""
        self._over = True
        for _ in range(self._draw.choice((0, 0, 300))):
            ready = self.schedule.ready()
            if not ready:
                break
            ready[0].switch()
        for _, packed in self._landing:
            self.server.carry_out(packed)
        if self.broken is not None:
            raise self.broken

    def heuristic_seconds(self) -> float:
        """Return how long a heuristic takes that a host computes in its idle time."""
        return self._draw.choice((0.0, 0.1, 0.7))

    def is_calm(self) -> bool:
        """Return whether nothing goes wrong any more."""
        if self._over:
            return True
        calm_after = CALM_AFTER_PACKS if self.scene.packs or self.scene.batches else CALM_AFTER
        return self.steps >= calm_after and not any(host.main.at == "finish" for host in self._hosts)

    def _new_host(self) -> None:
        self._born += 1
        self._hosts.append(HostProcess(self, f"host{self._born}"))

    def _new_worker(self) -> None:
        self._born += 1
        self._workers.append(WorkerProcess(self, f"worker{self._born}"))

    # -- what goes wrong between two steps -------------------------------------------------------------

    def _happen(self, fault: str) -> None:
        draw, now = self._draw, self.schedule.now
        host = draw.choice(self._hosts) if self._hosts else None
        worker = draw.choice(self._workers)
        message = draw.randrange(len(self.broker.waiting)) if self.broker.waiting else None
        if not self._is_possible(fault):
            return
        self._note(fault)
        match fault:
            case "host killed" if host is not None:
                host.kill()
                self._host_due = now + draw.choice((0.0, 1.0, 5.0))
            case "host stopped" if host is not None:
                host.stop_for(draw.choice((1.0, 5.0, 10.0)))
                if draw.random() < 0.5:
                    self._new_host()
            case "second host":
                self._new_host()
            case "worker killed":
                self._kill_worker(worker)
            case "worker stopped":
                worker.stop_for(draw.choice((0.5, LEASE, 2 * LEASE)))
            case "message lost" if message is not None:
                self.broker.waiting.pop(message)
            case "message doubled":
                self.broker.send(draw.choice(self.broker.sent[-12:]))
            case "message delayed" if message is not None:
                job_id = self.broker.waiting.pop(message)[1]
                self.broker.send(job_id, draw.choice((0.5, 3.0, 12.0)))
            case "messages reordered":
                self.broker.reordered = not self.broker.reordered
            case "broker wiped":
                self.broker.waiting.clear()
            case "server stalled":
                self._stalled_until = now + draw.choice((0.5, 3.0, 12.0))
            case "server restarted":
                self.server.persist()
                self._restart_at = self.steps + draw.choice((0, 3, 10, 30))
            case "wall clock jumped":
                self._wall_jump += draw.choice((-DAY, DAY))
            case "older worker":
                self._set_older(not self._older_until)

    def _is_possible(self, fault: str) -> bool:
        match fault:
            case "host killed" | "host stopped":
                return bool(self._hosts)
            case "second host":
                return len(self._hosts) < 3
            case "message lost" | "message delayed":
                return bool(self.broker.waiting)
            case "message doubled":
                return bool(self.broker.sent)
            case "server restarted":
                return self._restart_at is None
            case _:
                return True

    def _kill_worker(self, worker: WorkerProcess) -> None:
        worker.kill()
        self._workers.remove(worker)
        self._new_worker()

    def _set_older(self, older: bool) -> None:
        """One worker of another version; the others are of this one."""
        self._older_until = int(older)
        for i, worker in enumerate(self._workers):
            worker.set_older(older and i == 0)

    def _restart(self) -> None:
        self.server.restart()
        self.restarts += 1
        self._restart_at = None

    def _land(self) -> None:
        now = self.schedule.now
        for at, packed in [late for late in self._landing if late[0] <= now]:
            self._landing.remove((at, packed))
            self.server.carry_out(packed)

    def _note(self, fault: str) -> None:
        at = sorted({host.main.at for host in self._hosts}) or ["absent"]
        for state in (*self._states.now(), *(f"host {verb}" for verb in at)):
            self.coverage[state, fault] += 1

    # -- what goes wrong on the wire -------------------------------------------------------------------

    def before(self, actor: Actor, packed: list[bytes]) -> None:
        """A call is about to be sent."""
        restarts = self.restarts
        actor.sent += 1
        actor.pause()
        if actor.at == "batches":
            self.server.plain.set("simulated:ms", int(self.schedule.now * 1_000))
        if self.schedule.now < self._stalled_until:
            actor.pause(min(self._stalled_until, self.schedule.now + SOCKET_TIMEOUT))
            if self.schedule.now < self._stalled_until:
                if actor.at != "read" and self._draw.random() < 0.5:
                    self._landing.append((self._stalled_until, packed))
                raise RedisTimeoutError("the server does not answer")
        if self.restarts != restarts:
            raise RedisConnectionError("the server has gone away")
        fault = self._of_call(("call refused", "call delayed", "call landed late"))
        if fault == "call delayed":
            actor.sleep(self._draw.choice((0.1, 1.0)))
        elif fault == "call refused":
            raise RedisConnectionError("refused")
        elif fault == "call landed late":
            if actor.at != "read":
                self._landing.append((self.schedule.now + self._draw.choice((0.0, 0.1, 1.0)), packed))
            raise RedisTimeoutError("no answer in time")

    def after(self, actor: Actor) -> None:
        """A call was carried out."""
        if actor.at in ("settle", "claim", "advance"):
            for host in self._hosts:
                if host.main.at == "wait":
                    host.main.wakes = 0.0
        actor.pause()
        if self._of_call(("reply lost",)) is not None:
            raise RedisTimeoutError("the reply is lost")

    def _of_call(self, names: tuple[str, ...]) -> str | None:
        if self.is_calm():
            return None
        for name in names:
            if name in self.rates.of_calls and self._draw.random() < self.rates.of_calls[name]:
                self._note(name)
                return name
        return None

    # -- what the model does ---------------------------------------------------------------------------

    def asked(self, key: int, cases: int) -> Outcome:
        """A request to the model."""
        actor = current()
        assert actor is not None
        actor.at = "model"
        draw, rates = self._draw, self.rates.of_requests
        actor.sleep(draw.choice((0.02, 0.2, 1.0)))
        fault = Rates.one_of(rates, draw) if not self.is_calm() else None
        usage = None
        if self.varied_usage:
            tokens = draw.randrange(100, 4_000)
            usage = Cost(calls=1, tokens=tokens, usd_micros=tokens // 5)
        if fault is not None:
            self._note(fault)
            self.met[fault] += cases > 1
        if fault == "worker killed by request" or key in self._deadly:
            self._deadly.add(key)
            self.kill_worker_of(actor)
        if fault == "request slow":
            actor.sleep(draw.choice((2.0, 1.5 * LEASE) if self.scene.patient else (2.0, 8.0, 20.0)))
        if fault == "request failed" and cases > 1:
            kind = next(self._of_packs)
            self.met[kind] += 1
            return Outcome(kind, Cost() if kind == "no_time" else usage, status=draw.choice((None, 400)))
        if fault == "request failed":
            return Outcome(draw.choice(("server", "timeout", "not_json", "bad_request", "rate_limited")), usage)
        return Outcome(None, usage)

    def kill_worker_of(self, actor: Actor) -> None:
        """Kill the process of the running thread."""
        self._dying = actor.process
        actor.pause(NEVER)

    def spoiled(self, fault: str) -> None:
        """An item of the answer to a pack has a fault."""
        self.met[fault] += 1

"""Processes of a simulated cluster: greenlets that run one at a time, on a clock that only the schedule moves."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from random import Random
from typing import TYPE_CHECKING, TypeVar

from greenlet import getcurrent, greenlet

if TYPE_CHECKING:
    from tests.simulation.seeded.model import Fate

T = TypeVar("T")

NEVER = math.inf
STEP = 0.01  # seconds that each step takes


class Killed(BaseException):
    """A process dies here: no handler of errors sees it, and what it does while it unwinds reaches nobody."""


class Process:
    """A host or a worker: all its threads die together."""

    def __init__(self, schedule: Schedule, name: str) -> None:
        self.schedule = schedule
        self.name = name
        self.threads: list[Actor] = []
        self.alive = True

    def spawn(self, body: Callable[[], None]) -> Actor:
        """Another thread of this process; it begins when the schedule says so."""
        actor = Actor(self, body)
        self.threads.append(actor)
        self.schedule.actors.append(actor)
        return actor

    def kill(self) -> None:
        """SIGKILL."""
        self.alive = False
        for actor in self.threads:
            if actor in self.schedule.actors:
                self.schedule.actors.remove(actor)
            if actor:  # it has begun and not ended
                actor.throw(Killed)

    def stop_for(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after so many seconds."""
        for actor in self.threads:
            actor.stopped_until = max(actor.stopped_until, self.schedule.now + seconds)


class Actor(greenlet):
    """One thread."""

    def __init__(self, process: Process, body: Callable[[], None]) -> None:
        super().__init__(self._live)
        self.process = process
        self.schedule = process.schedule
        self.wakes = self.schedule.now  # not before
        self.stopped_until = 0.0
        self.at = "start"  # the ledger's verb that it is at
        self.sent = 0  # calls to the server
        self._body = body

    def _live(self) -> None:
        try:
            self._body()
        except Killed:
            pass
        finally:
            if self in self.schedule.actors:
                self.schedule.actors.remove(self)

    def pause(self, until: float = 0.0) -> None:
        """Give control back; go on at `until` at the earliest."""
        if not self.process.alive:
            raise Killed
        self.wakes = until
        self.schedule.main.switch()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.pause(self.schedule.now + seconds)


class Schedule:
    """The actors that may run, and the simulated time."""

    def __init__(self, nonces: Random, fate: Fate) -> None:
        self.nonces = nonces
        self.fate = fate  # of requests to the model
        self.now = 0.0  # seconds, monotonic
        self.actors: list[Actor] = []
        self.main = getcurrent()

    def clock(self) -> float:
        """Return the simulated time, like `time.monotonic`."""
        return self.now

    def ready(self) -> list[Actor]:
        """Return the actors that may take the next step."""
        now = self.now
        return [actor for actor in self.actors if actor.wakes <= now >= actor.stopped_until]

    def next_instant(self) -> float:
        """Return the earliest time at which an actor may run again."""
        return min((max(actor.wakes, actor.stopped_until) for actor in self.actors), default=NEVER)


def current() -> Actor | None:
    """Return the running actor, or None outside of the simulated cluster."""
    actor = getcurrent()
    return actor if isinstance(actor, Actor) else None


class SimulatedTime:
    """Takes the place of the `time` module where simulated processes wait."""

    @staticmethod
    def monotonic() -> float:
        """Seconds of the schedule's clock."""
        actor = current()
        return actor.schedule.now if actor is not None else 0.0

    perf_counter = monotonic

    @staticmethod
    def sleep(seconds: float) -> None:
        """Wait on it."""
        actor = current()
        if actor is not None:
            actor.sleep(seconds)


class SimulatedFlag:
    """Takes the place of a `threading.Event` that threads of one process set for one another."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """Have waiting threads go on."""
        self._is_set = True

    def wait(self, timeout: float) -> bool:
        """Wait for several steps of others, since each takes simulated time."""
        wait_until(lambda: self._is_set, timeout + 200 * STEP)
        return self._is_set


class SimulatedFuture(Future[T]):
    """A future whose waiting takes simulated time."""

    def result(self, timeout: float | None = None) -> T:
        wait_until(self.done, NEVER if timeout is None else timeout)
        return super().result(0)


class SimulatedCondition:
    """Takes the place of a `threading.Condition` on which one thread waits: only a pause hands control over."""

    def __init__(self) -> None:
        self._waiting: Actor | None = None

    def __enter__(self) -> SimulatedCondition:
        return self

    def __exit__(self, *error: object) -> None:
        """Nobody waits to enter."""

    def notify(self) -> None:
        """Have the waiting thread look again."""
        if self._waiting is not None:
            self._waiting.wakes = 0.0

    def wait_for(self, predicate: Callable[[], object], timeout: float) -> None:
        """Wait until something is true, or the time is over."""
        self._waiting = actor = current()
        assert actor is not None
        until = actor.schedule.now + timeout
        while not predicate() and actor.schedule.now < until:
            actor.pause(until)


class SimulatedThread:
    """Takes the place of a `LazyThread` of the present process."""

    def __init__(self, target: Callable[[], None], name: str) -> None:
        self._target = target
        self._is_started = False

    def start(self) -> None:
        """Begin when the schedule says so, once."""
        if not self._is_started:
            self._is_started = True
            actor = current()
            assert actor is not None
            actor.process.spawn(self._target)


def wait_until(done: Callable[[], bool], timeout: float) -> None:
    """Let simulated time pass until something is done; nothing else in the cluster moves the clock."""
    actor = current()
    if actor is None:
        return
    until = actor.schedule.now + timeout
    while not done() and actor.schedule.now < until:
        actor.sleep(STEP)


class SimulatedEvent:
    """Takes the place of `threading.Event` there: nobody sets it, and waiting for it takes simulated time."""

    @staticmethod
    def wait(timeout: float) -> bool:
        """Wait until the time is over."""
        if timeout > 0:
            SimulatedTime.sleep(timeout)
        return False

    @staticmethod
    def is_set() -> bool:
        """Return that nobody has set it."""
        return False

"""A small town on one morning, on a real Valkey, whose every Redis call a test can watch.

The connection is watched, below commands, scripts and pipelines, so calls that are added to the product later are
watched too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from redis import Redis
from redis.connection import ConnectionPool, UnixDomainSocketConnection

from cogitate.hosting.tick_loop import TickLoop
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import incarnation_key
from cogitate.simulation.town.town import Town
from cogitate.tasks.job import Job
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.faults.attacked import LATENCY

TICKS, START, STEP = 28, 320, 20  # ticks of twenty minutes that begin before the morning, when plans are made
SETTINGS = Settings.tuned(
    seconds_per_tick=60 * STEP,
    latency=LATENCY,
    limits={"tick.run.jobs": 3, "day.run.jobs": 12},  # these limits bind
    retry_share=0.75,  # each crash costs an attempt; enough retries keep jobs alive and so the digest the same
    claim_cap=10,
    max_observations=8,  # makes many prunes due
    reflection_interval=120,
    lease=1e-6,  # jobs run inline, so a lease still held while the host waits is a dead worker's
    hint_interval=0.001,
)
Watch = Callable[[str], None]  # called with "before" and "after" around each call


class WatchedConnection(UnixDomainSocketConnection):
    """A connection that calls `watch` before each call is sent and after the server has executed it."""

    def __init__(self, *, watch: Watch, **options: Any) -> None:
        self._watch = watch
        self._answered = True
        super().__init__(**options)

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        self._watch("before")
        super().send_packed_command(command, check_health)
        self._answered = False

    def read_response(self, *arguments: Any, **options: Any) -> Any:
        reply = super().read_response(*arguments, **options)
        if not self._answered:
            self._answered = True
            self._watch("after")
        return reply


def watched_client(server: EmbeddedServer, watch: Watch) -> Redis:
    """Return a client of the server's state that reports each of its calls to `watch`."""
    return Redis(
        connection_pool=ConnectionPool(connection_class=WatchedConnection, path=str(server.socket), watch=watch)
    )


class SteadyBeat(Heartbeat):
    """A heartbeat that beats once per job in the job's thread, so every run makes the same calls in the same order."""

    @contextmanager
    def of(self, run: str, incarnation: str) -> Iterator[None]:
        self._beat(run, incarnation)
        yield


class Visit:
    """One host's visit to the town, with the worker inline; it resumes the run that a dropped host left."""

    def __init__(self, client: Redis) -> None:
        resume = bool(client.exists(incarnation_key("town")))
        self.town = Town(agents=2, seed=3, minutes_per_tick=STEP, start_minute=START)
        self.loop = TickLoop(
            run="town",
            owners=self.town.owners(),
            settings=SETTINGS,
            locations=self.town.locations,
            brief=self.town.brief,
            ticks=TICKS,
            start_minute=START,
            exist="resume" if resume else "create",
            inline=True,
            client=client,
        )
        self.publish = self.loop._loop.collector._publish
        if self.loop.restored is not None:
            self.town.load(self.loop.restored)

    def live(self, until: int | None = None) -> str:
        """Run to the end, or to the world's turn of tick `until`, which is not committed; return the digest."""
        for tick in self.loop:
            for change in tick.applied:
                self.town.apply(change)
            for owner, entry in self.town.step(tick.number, tick.minute):
                self.loop.observe(owner, entry)
            for effect in self.town.take_effects():
                self.loop.apply(effect)
            if tick.number % 9 == 0:
                self.loop.checkpoint(self.town.dump())
            if tick.number == until:
                break
        self.loop.close(commit=False)
        return self.loop.digest

    def publish_through(self, publish: Callable[[Sequence[Job]], int]) -> None:
        """Replace the function by which the host publishes jobs."""
        self.loop._loop.collector._publish = publish

"""A small town on the morning of a day, on a real Valkey, whose every Redis call can be watched.

It is watched at the connection, below every command, script and pipeline: a call that is added later is seen without
anyone remembering it.
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

TICKS, START, STEP = 28, 320, 20  # ticks of twenty minutes from before the morning, when plans are made
SETTINGS = Settings.tuned(
    seconds_per_tick=60 * STEP,
    latency=LATENCY,
    limits={"tick.run.jobs": 3, "day.run.jobs": 12},  # they bind
    retry_share=0.75,  # whoever dies costs an attempt: none of them may make a job dead, and so the digest another
    claim_cap=10,
    max_observations=8,  # so that there is much to prune
    reflection_interval=120,
    lease=1e-6,  # jobs run inline: a lease that the host finds held while it waits is a dead worker's
    hint_interval=0.001,
)
Watch = Callable[[str], None]  # told "before" and "after" each call


class WatchedConnection(UnixDomainSocketConnection):
    """Tells `watch` of each call: before it is sent, and when the server has carried it out."""

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
    """A client of the server's state that tells of each of its calls."""
    return Redis(
        connection_pool=ConnectionPool(connection_class=WatchedConnection, path=str(server.socket), watch=watch)
    )


class SteadyBeat(Heartbeat):
    """Beats once a job, in the job's own thread: every run makes the same calls in the same order."""

    @contextmanager
    def of(self, run: str, incarnation: str) -> Iterator[None]:
        self._beat(run, incarnation)
        yield


class Visit:
    """One host's visit to the town, with the worker inline; it goes on where the last one was dropped."""

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
        """Go on to the end, or to the world's turn of tick `until`, which is not committed; the digest."""
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
        """Have the host publish in another way."""
        self.loop._loop.collector._publish = publish

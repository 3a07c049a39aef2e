"""Runs that share one server, one stand-in endpoint and the same workers, all hosted by one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.fleet import asking_kinds
from bench.worker.concurrency import LATENCY, endpoint, running_worker
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import MODEL
from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment

PLACES = 16  # jobs that a worker runs at a time


class Place(NamedTuple):
    """The folder, server and endpoint of runs: all that a host in another process needs."""

    folder: Path
    redis_url: str
    endpoint: str

    def settings(self, share: int = 1) -> Settings:
        """Return the settings of a run with this share of the workers, which the workers use too."""
        return Settings.tuned(
            data_dir=self.folder,
            redis_url=self.redis_url,
            llm="openai",
            model=MODEL,
            base_url=self.endpoint,
            api_key="any",
            concurrency=PLACES,
            workers=0,
            wait=0.0,
            limit_tokens=10**12,
            limits={},
            kinds=(asking_kinds.__name__,),
            act_interval=0,
            repair_from=1440,
            rate_share=0,
            adaptive_latency=False,
            worker_share=share,
        )


@contextmanager
def begun(place: Place, name: str, agents: int, share: int = 1) -> Iterator[TickLoop]:
    """Host a run whose agents have joined and do only what is requested."""
    owners = {f"agent:{name}-{number}": Profile(name=f"{name} {number}") for number in range(agents)}
    with TickLoop(run=name, owners=owners, settings=place.settings(share)) as loop:
        with loop.next_tick():
            pass
        yield loop


class Fleet:
    """A server, an endpoint, and the runs and workers that are started on them. Close it by its stack."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(EmbeddedServer(self.folder))
        self.state, self.broker = stack.enter_context(server.client(0)), stack.enter_context(server.client(1))
        self.state.config_set("appendfsync", "everysec")
        self.place = Place(self.folder, server.url, stack.enter_context(endpoint("--latency", LATENCY)))

    def run(self, name: str, agents: int, share: int = 1) -> TickLoop:
        """Begin a run whose agents do only what is requested."""
        return self._stack.enter_context(begun(self.place, name, agents, share))

    def start_workers(self, count: int) -> None:
        """Start worker processes, which take the jobs of all runs."""
        environment = worker_environment(self.place.settings()) | {"PYTHONPATH": str(Path(__file__).parents[2])}
        for number in range(count):
            command = worker_command(f"fleet-{number}@%h")
            self._stack.enter_context(running_worker(command, environment, self.folder / f"worker-{number}.log"))

    def answered(self, loops: Sequence[TickLoop]) -> list[int]:
        """Return how many jobs of each run have their answer."""
        with self.state.pipeline(transaction=False) as pipe:
            for loop in loops:
                pipe.scard(loop.ledger.store.key("staged"))
            return [int(count) for count in pipe.execute()]

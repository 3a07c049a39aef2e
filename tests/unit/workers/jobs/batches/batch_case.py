"""Runs in one process whose worker asks an endpoint over HTTP in batch files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from unittest.mock import patch

from fakeredis import FakeRedis
from redis import Redis

from cogitate.hosting import inline
from cogitate.hosting.inline import InlinePublisher
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.fake_llm.stats import Stats
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Ended
from cogitate.scheduler.ledger.batches import Batches
from cogitate.scheduler.ledger.claims import Claims
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, added
from cogitate.workers.jobs.batches import desk
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.jobs.runner import Runner

OWNERS = {f"agent:{n:02}": Profile(name=f"Agent {n:02}") for n in range(12)}
RUN, TICKS = "town", 12
WAIT = 300.0  # seconds that boundaries would wait: longer than a batch is known to take


class Lived(NamedTuple):
    """The results of a run."""

    ends: list[Ended]  # what it thought
    jobs: list[JobRecord]
    served: Stats


class BatchingPublisher(InlinePublisher):
    """Runs jobs in the host's thread, with a desk for batches in another from the first job that may use it on."""

    def __init__(self, client: Redis, settings: Settings) -> None:
        claims, batches = Claims(client, worker="inline"), Batches(client, worker="inline")
        beat = Heartbeat(claims.beat, settings.tuning.lease / 5)
        self._runner = Runner(client, claims, beat, settings, batches=batches)


def settings_of(endpoint: FakeEndpoint, **more: Any) -> Settings:
    model = {
        "model": "m",
        "input_price": 1_000_000,
        "output_price": 1_000_000,
        "batch": more.pop("batch", "auto"),
        "pack": more.pop("pack", "off"),
        "service_tier": more.pop("service_tier", "standard"),
        "service_tiers": more.pop("service_tiers", {"batch": 50}),
    }
    chosen: dict[str, Any] = {
        "llm": "openai",
        "wait": WAIT,
        "hint_interval": 0.05,
        "limit_tokens": 10_000_000,
        "limits": {},
        "endpoints": {"default": Endpoint(base_url=endpoint.url, api_key="any")},
        "models": {"default": ModelSettings(**model)},
    }
    return Settings.tuned(**(chosen | more))


def live(
    faults: dict[str, float] | None = None,
    *,
    took: int = 1,
    batch_latency: float = 0.0,
    on_tick: Callable[[TickLoop, int, Redis, FakeEndpoint], None] = lambda *_: None,
    **more: Any,
) -> Lived:
    """Ask for everybody's plan at the first tick.

    Args:
        took: seconds that an earlier batch took; 0: there was none.
        more: further settings, and `batch`, `pack`, `service_tier` and `service_tiers` of the model.
    """
    client = FakeRedis()
    with (
        FakeEndpoint(faults=faults or {}, batch_latency=batch_latency) as endpoint,
        patch.object(inline, "InlinePublisher", BatchingPublisher),
        patch.multiple(desk, GATHER=1.0, LOOK=0.02, SHORTEST_POLL=0.05, SEARCH=0.1),
    ):
        if took:
            Batches(client, worker="test").took("default", took)
        settings = settings_of(endpoint, **more)
        with TickLoop(run=RUN, owners=OWNERS, settings=settings, ticks=TICKS, inline=True, client=client) as loop:
            for tick in loop:
                if tick.number == 1:
                    for owner in OWNERS:
                        loop.request("plan", owner)
                on_tick(loop, tick.number, client, endpoint)
        served = endpoint.stats()
    assert audit(client, RUN) == []
    jobs = [job for job in JobHistory(client, RUN).all() if job.kind == "plan"]
    ends = [end for line in read_journal(RunStore.open(client, RUN), 1, TICKS) for end in line.core.ended]
    return Lived(ends, jobs, served)


def spent(jobs: list[JobRecord]) -> Cost:
    total = Cost()
    for job in jobs:
        total = added(total, job.spent)
    return total

"""A run whose model has `service_tier = "auto"`: answers in the flex tier are cheaper, and nothing else changes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from redis import Redis

from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.fake_llm.stats import Stats
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals, endpoint_vitals
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.job_records import JobRecord
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Core
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, added
from cogitate.workers.jobs.service_tiers import ANSWER, SPARED
from cogitate.workers.processes.embedded import EmbeddedServer

OWNERS = {f"agent:{n:02}": Profile(name=f"Agent {n:02}") for n in range(12)}
PRICE = 1_000_000  # micro-dollars per million tokens, so one per token


class Lived(NamedTuple):
    """The results of a run."""

    cores: list[Core]
    jobs: list[JobRecord]
    summary: RunSummary
    endpoint: EndpointVitals
    served: Stats

    @property
    def spent(self) -> Cost:
        total = Cost()
        for job in self.jobs:
            total = added(total, job.spent)
        return total


def live(
    data_dir: Path,
    tier: Literal["auto", "standard"],
    faults: dict[str, float] | None = None,
    *,
    pack: Literal["auto", "off"] = "off",
    flex_latency: float = 0.0,
    job_deadline: float = 60.0,
) -> Lived:
    """Request every owner's plan at one tick, in this process, or packed by a worker's threads."""
    client = redis_in_memory() if pack == "off" else None
    with FakeEndpoint(faults=faults or {}, flex_latency=flex_latency) as endpoint:
        model = ModelSettings(
            model="m",
            input_price=PRICE,
            output_price=PRICE,
            pack=pack,
            service_tier=tier,
            service_tiers={"flex": 50},
        )
        settings = Settings(
            data_dir=data_dir,
            llm="openai",
            workers=1,
            concurrency=12,
            limit_tokens=10_000_000,
            limits={},
            job_deadline=job_deadline,
            endpoints={"default": Endpoint(base_url=endpoint.url, api_key="any")},
            models={"default": model},
        )
        inline = client is not None
        with TickLoop(run="town", owners=OWNERS, settings=settings, ticks=12, inline=inline, client=client) as loop:
            for tick in loop:
                if tick.number == 1:
                    for owner in OWNERS:
                        loop.request("plan", owner)
        served = endpoint.stats()
    if client is not None:
        return _read(client, served)
    with EmbeddedServer(data_dir) as server, server.client() as state:
        return _read(state, served)


def _read(client: Redis, served: Stats) -> Lived:
    assert audit(client, "town") == []
    jobs = [job for job in JobHistory(client, "town").all() if job.kind == "plan"]
    cores = [line.core for line in read_journal(RunStore.open(client, "town"), 1, 12)]
    summary, (vitals,) = summarise_run(client, "town"), endpoint_vitals(client)
    assert all(job.spent.usd_micros <= job.reserved.usd_micros * job.claims for job in jobs)
    assert all(job.usage.usd_micros <= job.reserved.usd_micros for job in jobs)
    return Lived(cores, jobs, summary, vitals, served)


def test_flex_halves_the_price_and_changes_neither_admission_nor_results(tmp_path: Path) -> None:
    standard, flex = live(tmp_path / "standard", "standard"), live(tmp_path / "flex", "auto")
    assert [(core.ended, core.decided) for core in flex.cores] == [
        (core.ended, core.decided) for core in standard.cores
    ]
    assert flex.served.tokens_by_service_tier.keys() == {"flex"}
    assert [job.reserved for job in flex.jobs] == [job.reserved for job in standard.jobs]
    assert [2 * job.usage.usd_micros - job.usage.tokens in (0, 1) for job in flex.jobs] == [True] * len(OWNERS)
    assert {(job.service_tier, job.usage.usd_micros + job.discount == job.usage.tokens) for job in flex.jobs} == {
        ("flex", True)
    }
    assert flex.summary.service_tiers == flex.endpoint.service_tiers == {"flex": len(OWNERS)}
    assert flex.summary.discount == flex.endpoint.discount == sum(job.discount for job in flex.jobs) > 0
    assert standard.summary.service_tiers == {}
    assert flex.endpoint.usual is None, "durations of flex do not count for the standard tier"


@pytest.mark.parametrize("fault", ["flex_busy", "flex_unsupported"])
def test_a_refusal_of_flex_costs_no_attempt_and_no_money(tmp_path: Path, fault: str) -> None:
    lived = live(tmp_path, "auto", {fault: 1.0})
    tokens = lived.served.tokens_by_service_tier
    assert tokens.keys() == {"default"}
    assert {(job.claims, job.source, job.service_tier, job.discount) for job in lived.jobs} <= {
        (1, "llm", "", 0),
        (1, "llm", "default", 0),
    }
    assert lived.spent == Cost(len(OWNERS), tokens["default"], tokens["default"])
    refused = lived.served.requests - len(OWNERS)
    assert lived.endpoint.failures == {"flex_refused": refused}
    assert 0 < refused <= len(OWNERS)
    assert (lived.endpoint.breaker, lived.endpoint.openings, lived.endpoint.set_aside) == ("closed", 0, {})


def test_an_answer_of_another_tier_is_charged_at_that_tiers_price(tmp_path: Path) -> None:
    lived = live(tmp_path, "auto", {"flex_default": 0.4, "flex_unnamed": 0.3})
    by_tier: dict[str, list[JobRecord]] = {}
    for job in lived.jobs:
        by_tier.setdefault(job.service_tier, []).append(job)
    assert by_tier.keys() == {"flex", "default", ""}
    for tier, percent in {"flex": 50, "default": 100, "": 100}.items():
        for job in by_tier[tier]:
            assert job.usage.usd_micros == -(-job.usage.tokens * percent // 100)


def test_a_slow_flex_call_is_repeated_in_the_standard_tier_and_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogitate.workers.jobs.service_tiers.LEAST", 0.5)
    lived = live(tmp_path, "auto", flex_latency=60.0, job_deadline=SPARED * ANSWER + 2)
    assert lived.served.tokens_by_service_tier.keys() == {"default"}
    assert Counter((job.claims, job.source) for job in lived.jobs) == {(2, "llm"): 1, (1, "llm"): len(OWNERS) - 1}
    assert all(0 < job.retried.usd_micros <= job.reserved.usd_micros for job in lived.jobs if job.claims > 1)
    assert lived.endpoint.breaker == "closed"
    assert lived.endpoint.openings == 0


def test_packed_calls_in_flex_share_its_price(tmp_path: Path) -> None:
    lived = live(tmp_path, "auto", {"flex_busy": 0.3}, pack="auto")
    assert max(job.packed for job in lived.jobs) > 1
    tokens = lived.served.tokens_by_service_tier
    assert lived.spent.tokens == sum(tokens.values())
    paid = lived.spent.usd_micros - tokens.get("default", 0)
    assert 0 <= 2 * paid - tokens.get("flex", 0) <= lived.served.requests
    assert lived.summary.discount == sum(job.discount for job in lived.jobs)

"""A town whose model never answers: the host takes the fallbacks that a worker has staged, and nothing else changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis
from redis import Redis

import cogitate.scheduler.engine.boundary
from cogitate import Observation, Profile, Settings, TickLoop
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.engine.engine import RunEngine
from cogitate.scheduler.inspection.audit.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.intake.fallbacks import Fallbacks
from cogitate.scheduler.intake.kind_effects import KindEffects, made_without_model
from cogitate.scheduler.ledger.claims import Claim, Claims
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.workers.jobs.fallbacks import FallbackStaging
from cogitate.workers.jobs.inline import InlinePublisher
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.unit.scheduler.tick.test_loop import clock_of_loops

Eventually = Callable[..., None]

OWNERS = {f"agent:{name}": Profile(name=name.title()) for name in ("ann", "ben", "cy")}
START, TICKS = 350, 60  # plans are asked for at 6:00, and due five minutes later; reflections follow


class Unanswered(InlinePublisher):
    """A worker that claims jobs, stages their fallbacks, and gets no answer."""

    stages = True
    staged = 0
    loses: Callable[[Redis, Claim], object] = staticmethod(lambda client, claim: None)
    eventually: Eventually

    def __init__(self, client: Redis, settings: Settings) -> None:
        super().__init__(client, settings)
        self._client, self._staging, self._stack = client, FallbackStaging(Claims(client, worker="inline")), ExitStack()

    def publish(self, jobs: Sequence[Job]) -> int:
        """Claim all jobs; those that ask no model run."""
        for job in jobs:
            if not job.model:
                self._runner.run(job.id)
            elif isinstance(claim := self._runner._claims.claim(job.id), Claim) and self.stages:
                self._stack.enter_context(self._staging.of(claim))
                key = RunStore.of(self._client, job.run, claim.incarnation).job_key(job.key.text())
                self.eventually(lambda key=key: self._client.hexists(key, "fallback"), "the fallback to be staged")
                Unanswered.staged += 1
                self.loses(self._client, claim)
        return len(jobs)


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


@pytest.fixture(autouse=True)
def unanswered(monkeypatch: pytest.MonkeyPatch, eventually: Eventually) -> None:
    monkeypatch.setattr(Unanswered, "eventually", staticmethod(eventually), raising=False)
    monkeypatch.setattr(Unanswered, "staged", 0)
    monkeypatch.setattr("cogitate.workers.jobs.inline.InlinePublisher", Unanswered)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the heuristics that a boundary computes, by kind."""
    found: Counter[str] = Counter()

    def made(kind: Any, case: Any) -> KindEffects:
        found[kind.name] += 1
        return made_without_model(kind, case)

    monkeypatch.setattr(cogitate.scheduler.engine.boundary, "made_without_model", made)
    return found


def live(
    client: Redis, folder: Path, run: str, *, rate: float | None = None, until: int = TICKS, resume: bool = False
) -> str:
    """Return the digest of the run, which the auditor and a replay agree with."""
    settings = Settings.tuned(
        data_dir=folder,
        llm="openai",
        api_key="any",
        limit_tokens=10_000_000,
        wait=0,
        tick_rate=rate,
        limits={},
        adaptive_latency=False,
        lease=1e9,
        guarantees={},
        act_interval=0,
        reflection_trigger="either",
        reflection_trigger_max=40,
    )
    with TickLoop(
        run=run,
        owners=OWNERS,
        settings=settings,
        inline=True,
        client=client,
        start_minute=START,
        ticks=TICKS,
        exist="resume" if resume else "create",
    ) as loop:
        for tick in loop:
            for owner in OWNERS:
                seen = Observation(text=f"The bell of house {tick.number} rang.", minute=tick.minute, importance=6)
                loop.observe(owner, seen)
            loop.checkpoint(b"nothing")
            if tick.number == until:
                loop.stop()
    assert audit(client, run) == []
    assert replay(client, run, FakeRedis()).digest == loop.digest
    return loop.digest


@pytest.mark.parametrize("rate", [None, 10.0], ids=["full speed", "paced"])
def test_the_digest_is_the_same_with_and_without(
    client: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: Counter[str], rate: float | None
) -> None:
    if rate is not None:
        clock_of_loops(monkeypatch)
        monkeypatch.setattr(RunEngine, "work_ahead", lambda *given: None)  # there is no idle time
    with monkeypatch.context() as without:
        without.setattr(Unanswered, "stages", False)
        usual = live(client, tmp_path, "without", rate=rate)
    assert set(computed) >= {"plan", "reflect"}
    computed.clear()
    assert live(client, tmp_path, "with", rate=rate) == usual
    assert Unanswered.staged
    assert not computed, "each job's fallback is there"


def test_a_host_that_resumes_the_run_takes_what_is_there(client: Redis, tmp_path: Path, computed: Counter[str]) -> None:
    whole = live(client, tmp_path, "whole")
    live(client, tmp_path, "left", until=12)
    assert not computed["plan"]
    assert live(client, tmp_path, "left", resume=True) == whole
    assert not computed


@pytest.mark.parametrize("staged", [b"{", b'{"code": "other", "effects": []}'], ids=["unreadable", "of other code"])
def test_what_cannot_be_used_is_computed(
    client: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: Counter[str], staged: bytes
) -> None:
    usual = live(client, tmp_path, "usual")
    worker = Claims(client, worker="another")
    monkeypatch.setattr(Unanswered, "loses", staticmethod(lambda _, claim: worker.stage_fallback(claim, staged)))
    assert not computed
    assert live(client, tmp_path, "other") == usual
    assert computed["plan"] == len(OWNERS)


def test_a_job_that_is_given_up_ends_by_its_fallback_too(
    client: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: Counter[str]
) -> None:
    worker = Claims(client, worker="another")
    monkeypatch.setenv("COGITATE_TUNING", '{"claim_cap": 1}')
    monkeypatch.setattr(Unanswered, "loses", staticmethod(lambda _, claim: worker.settle(claim, None, Cost())))
    with monkeypatch.context() as without:
        without.setattr(Fallbacks, "read", lambda *given: None)
        usual = live(client, tmp_path, "computed")
    assert computed["plan"] == len(OWNERS)
    computed.clear()
    assert live(client, tmp_path, "staged") == usual
    assert not computed


def test_a_worker_process_stages_what_its_host_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: Counter[str], eventually: Eventually
) -> None:
    taken: list[KindEffects | None] = []
    read = Fallbacks.read

    def reading(self: Fallbacks, key: JobKey, raw: bytes) -> KindEffects | None:
        taken.append(read(self, key, raw))
        return taken[-1]

    monkeypatch.setattr(Fallbacks, "read", reading)
    with FakeEndpoint(latency=600.0) as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path,
            llm="openai",
            base_url=endpoint.url,
            api_key="any",
            limit_tokens=10_000_000,
            wait=0,
            limits={},
            adaptive_latency=False,
            act_interval=0,
            workers=1,
            stage_fallbacks=True,
        )
        with TickLoop(run="hangs", owners=OWNERS, settings=settings, start_minute=START, ticks=30) as loop:
            for _ in loop:
                for item in loop.state.open.values():
                    key = loop.ledger.store.job_key(item.job.key.text())
                    eventually(lambda key=key: loop.ledger.client.hexists(key, "fallback"), "the fallback to be staged")
    assert [made for made in taken if made is not None and made.effects], "the plans"
    assert None not in taken
    assert not computed

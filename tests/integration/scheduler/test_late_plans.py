"""A town whose plans are late uses heuristic plans at the due tick, and the model's plans once they arrive."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis

from cogitate import Profile, Settings, TickLoop
from cogitate.hosting.inline import InlinePublisher
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.formatting.run import degraded_lines
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import changes_of, read_journal
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.job import Job
from cogitate.workers.jobs.candidates import NO_ADJUSTMENT
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.live_redis import empty_redis

OWNERS = {"agent:ann": Profile(name="Ann"), "agent:ben": Profile(name="Ben")}
START, DUE, COMES, TICKS = 350, 15, 200, 260  # plans are requested at 6:00, and made by heuristics at 6:05


class Late(InlinePublisher):
    """An inline worker that claims plans and answers them hours later."""

    held: list[Claim]

    def publish(self, jobs: Sequence[Job]) -> int:
        """Run every job except plans, which are only claimed."""
        for job in jobs:
            if job.key.kind != "plan":
                self._runner.run(job.id)
            elif isinstance(claim := self._runner._claims.claim(job.id), Claim):
                self.held.append(claim)
        return len(jobs)

    def answer(self) -> list[str]:
        """Ask the model for the claimed plans, settle them, and return the replies of the ledger."""
        settled: list[str] = []
        for claim in self.held:
            made = self._runner._attempts.make(claim, time.monotonic() + 60, NO_ADJUSTMENT)
            settled.append(self._runner._settle(claim, made.result, made.used, made.failure))
        return settled


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def client(valkey: EmbeddedServer) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


@pytest.fixture(autouse=True)
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Late, "held", [], raising=False)
    monkeypatch.setattr("cogitate.hosting.inline.InlinePublisher", Late)


def live(
    client: Redis, model: FakeEndpoint, data_dir: Path, run: str = "town", *, until: int = TICKS, resume: bool = False
) -> tuple[TickLoop, list[tuple[int, str, str]]]:
    """Run the town; return its loop and the plans that the world received, as tick, owner and source."""
    settings = Settings.tuned(
        data_dir=data_dir,
        llm="openai",
        base_url=model.url,
        api_key="any",
        limit_tokens=1_000_000,
        wait=0,
        lease=1e9,
        act_interval=0,
        limits={},
        guarantees={},
    )
    handed: list[tuple[int, str, str]] = []
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
            handed += [(tick.number, c.owner, c.source) for c in tick.applied if c.kind == "plan" and c.entry]
            if tick.number == COMES and not tick.replayed:
                with closing(Late(client, settings)) as worker:
                    assert worker.answer() == ["offered", "offered"]
            loop.checkpoint(b"nothing")
            if tick.number == until:
                loop.stop()
    return loop, handed


def test_late_plans_of_the_model_replace_heuristic_plans(client: Redis, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    loop, handed = live(client, endpoint, tmp_path)
    guessed, planned = DUE, COMES + 1
    assert handed == [
        *((guessed, owner, "heuristic") for owner in OWNERS),
        *((planned, owner, "llm") for owner in OWNERS),
    ]
    lines = {line.core.tick: line for line in read_journal(loop.ledger.store, 1, loop.tick)}
    assert [change.source for change in changes_of(lines[planned])] == ["llm"] * len(list(changes_of(lines[planned])))
    for owner, stream in loop.state.streams.items():
        first, second = (entry for entry in stream.entries.values() if entry.type == "plan")
        assert (first.provisional, second.provisional) == (True, False), owner
        assert stream.archived[first.number].into == second.number
        assert stream.current_plan(START + planned) == second
    done = summarise_run(client, "town")
    assert done.figures["late_answers"] == {"plan": {"applied": 2}}
    assert done.jobs["plan"]["reason"] == {"late": 2}
    assert degraded_lines(done)[-1].endswith("a late answer replaced: 2.")
    assert done.spent.tokens == sum(note.usage.tokens for line in lines.values() for note in line.notes.late) > 0
    assert audit(client, "town") == []
    assert replay(client, "town", empty_redis()).digest == loop.digest


@pytest.mark.parametrize("left", [DUE + 3, COMES, COMES + 1])
def test_a_resumed_run_receives_late_plans_at_the_same_ticks(
    client: Redis, endpoint: FakeEndpoint, tmp_path: Path, left: int
) -> None:
    whole, handed = live(client, endpoint, tmp_path, "whole")
    Late.held.clear()
    _, before = live(client, endpoint, tmp_path, until=left)
    resumed, after = live(client, endpoint, tmp_path, resume=True)
    assert (before + after, resumed.digest) == (handed, whole.digest)
    assert audit(client, "town") == []

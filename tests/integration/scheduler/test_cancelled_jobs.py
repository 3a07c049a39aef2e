"""An operator cancels jobs while their calls are in flight: the answers change nothing, and their cost is charged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cogitate import Fork, Profile, Settings, TickLoop
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.controls import CalledOff
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run, usage_by_owner
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.claims import Claims
from cogitate.tasks.job import JobKey
from tests.conftest import Eventually
from tests.integration.command import typed
from tests.live_redis import empty_redis

RUN = "town"
OWNERS = {"agent:ann": Profile(name="Ann"), "agent:ben": Profile(name="Ben")}
START = 355  # plans are requested at 6:00, tick 5
CANCELLED, TICKS = 8, 40


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint() as endpoint:
        yield endpoint


@pytest.mark.parametrize("wait", [0.0, 60.0])
def test_cancelling_jobs_in_mid_call_ignores_their_answers_and_charges_their_cost(
    tmp_path: Path, endpoint: FakeEndpoint, eventually: Eventually, wait: float
) -> None:
    settings = Settings.tuned(
        data_dir=tmp_path,
        llm="openai",
        base_url=endpoint.url,
        api_key="any",
        limit_tokens=1_000_000,
        workers=1,
        wait=wait,
        act_interval=0,
        latency={"plan": 10},
        limits={},
        guarantees={},
    )
    endpoint.hold()
    plans = []
    with TickLoop(run=RUN, owners=OWNERS, settings=settings, start_minute=START, ticks=TICKS) as loop:
        client, store = loop.ledger.client, loop.ledger.store
        for tick in loop:
            plans += [(change.owner, change.source, change.reason) for change in tick.applied if change.kind == "plan"]
            if tick.number == CANCELLED - 1:
                endpoint.wait_for_request(len(OWNERS))
                keys = tuple(sorted(raw.decode() for raw in store.members("jobs")))
                filters = ("--kind", "plan", "--reason", "the endpoint hangs", "--yes", "--no-wait")
                sent = typed("cancel-jobs", RUN, *filters, data_dir=tmp_path)
                assert (sent.returncode, sent.stdout) == (
                    0,
                    "cancel 2 jobs: waits; it is applied with the run's next tick\n",
                )
            if tick.number == CANCELLED + 1:
                assert {Claims(client, worker="late").claim(f"{RUN}/{key}") for key in keys} == {"closed"}
                assert len(store.mapping("attempts")) == len(OWNERS), "both calls are still in flight"
            if tick.number == TICKS - 5:
                assert plans == [(owner, "heuristic", "cancelled") for owner in OWNERS], (
                    "at the due tick that they had before"
                )
                endpoint.release()
                eventually(lambda: not store.mapping("attempts"), "the workers to settle", 60)
        stats = endpoint.stats()
        used = stats.prompt_tokens + stats.completion_tokens
        (answer,) = [answer for line in read_journal(store, 1, loop.tick) for answer in line.notes.answers]
        assert answer.called_off == CalledOff(cancelled=2, ended=0, held=0)
        cancelled = [JobHistory(client, RUN).find(JobKey.parse(key)) for key in keys]
        assert sum(one.spent.tokens for one in cancelled) == used > 0
        assert {(one.state, one.because, one.late) for one in cancelled} == {("cancelled", "the endpoint hangs", None)}
        assert sum(cost.tokens for cost in usage_by_owner(client, RUN).values()) == used
        of_run = [one for one in summarise_run(client, RUN).budget if (one.window, one.scope) == ("run:0", "run")]
        assert {one.unit: (one.reserved, one.spent) for one in of_run}["tokens"] == (0, used)
        lines = list(read_journal(store, 1, loop.tick))
        assert not [ended for line in lines for ended in line.core.late]
        assert audit(client, RUN) == []
        assert replay(client, RUN, empty_redis()).digest == loop.digest
    again = Fork(run=RUN, tick=CANCELLED + 2)
    with TickLoop(run="fork", owners=OWNERS, settings=settings, start_minute=START, ticks=TICKS, fork=again) as fork:
        for _ in fork:
            pass
        assert fork.digest == loop.digest, "the fork cancels the jobs that its source cancelled"
        assert not any(cost.tokens for cost in usage_by_owner(fork.ledger.client, "fork").values())
        assert audit(fork.ledger.client, "fork") == []

"""One job against each behaviour of an endpoint: its failure class, charge, wait and stored plan."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cogitate import Profile, Settings, TickLoop
from cogitate.hosting import logs
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.claims import UNUSABLE, split_failure
from tests.integration.workers.behaviour import Behaviour
from tests.integration.workers.endpoint_behaviours import BEHAVIOURS, wordings
from tests.integration.workers.endpoint_replies import BEGUN, CAP, MARK
from tests.integration.workers.frame_behaviours import FRAMES
from tests.integration.workers.gateway_behaviours import GATEWAYS
from tests.integration.workers.hostile_behaviours import HOSTILE
from tests.integration.workers.many_ways import ManyWays
from tests.live_redis import empty_redis

ROWS = (*BEHAVIOURS, *HOSTILE, *FRAMES, *GATEWAYS, *wordings())
ALL = {one.name: one for one in ROWS}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ManyWays]:
    with ManyWays(ALL) as endpoint:
        yield endpoint


def test_every_behaviour_has_a_unique_name() -> None:
    assert len(ALL) == len(ROWS) > 100


@pytest.mark.parametrize("one", ALL.values(), ids=[*ALL])
def test_a_job_ends_as_its_endpoint_behaves(one: Behaviour, endpoint: ManyWays, tmp_path: Path) -> None:
    settings = Settings.tuned(
        data_dir=tmp_path,
        llm="openai",
        base_url=endpoint.url(one.name),
        api_key="any",
        limits={},
        limit_tokens=10_000_000,
        retry_share=0.5,
        act_interval=0,
        rate_share=0.0,
        repair_from=1440,
        claim_cap=one.claims,
        job_deadline=one.deadline,
    )
    client = empty_redis()
    logs.configure(1)
    loop = TickLoop(
        run="town",
        owners={"agent:ada": Profile(name="Ada")},
        settings=settings,
        ticks=8,
        start_minute=360,
        inline=True,
        client=client,
    )
    with capture_logs() as told, loop:
        for _ in loop:
            pass
    (note,) = [note for line in read_journal(loop.ledger.store, 1, loop.tick) for note in line.notes.ended]
    (vitals,) = endpoint_vitals(client)

    # the class
    failure, check = split_failure(note.failure)
    assert (failure, bool(check)) == (one.failure, one.failure == UNUSABLE)
    assert note.source == ("llm" if not one.failure else "heuristic")
    assert vitals.failures.get(one.failure or "none", 0) == (endpoint.requests(one.name) if one.failure else 0)
    # the charge
    assert (note.attempts, vitals.requests, endpoint.requests(one.name)) == (one.claims,) * 3
    spent = note.usage.tokens
    if one.charge == "told":
        assert (spent, note.unreported) == (one.tokens, False)
    elif one.charge == "none":
        assert (spent, note.unreported) == (0, False)
    else:
        assert note.unreported
        assert spent > CAP if one.charge == "bound" else spent > 0
    assert note.reasoning == one.reasoning
    # the wait
    waits = [entry["retry_after"] for entry in told if entry["event"] == "llm.failed"]
    asked = [wait for wait in waits if wait is not None]
    assert len(asked) == (one.wait is not None)
    if one.wait is not None:  # a date has come nearer since, and has whole seconds
        assert one.wait - one.dated * (time.time() - BEGUN + 1) <= asked[0] <= one.wait
    # what is stored
    (plan,) = (entry for entry in loop.state.streams["agent:ada"].entries.values() if entry.type == "plan")
    assert all(MARK in item.description for item in plan.items) == (not one.failure)
    assert any(MARK in item.description for item in plan.items) == (not one.failure)
    assert plan.provisional == bool(one.failure)
    assert audit(client, "town") == []

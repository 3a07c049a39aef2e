"""Left-over budget repairs heuristic results: in order, within the limits, and equally on resume and replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.effects import Append
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.budget.repairs import FAILED
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import Ended, EndNote
from cogitate.scheduler.ledger.run_store import RunStore
from tests.live_redis import empty_redis

OWNERS = {f"agent:{name.lower()}": Profile(name=name) for name in ("Ann", "Ben", "Cid", "Dora")}
START, ASKED, EVENING = 1080, 60, 1200  # six in the evening; reflections an hour later; repairs from eight
TICKS = 240
ONE_A_TICK = {"tick.run.calls": 1, "day.run.calls": 60}


def live(
    tmp_path: Path,
    client: Redis,
    *,
    until: int = TICKS,
    resume: bool = False,
    start: int = START,
    ben_leaves: int = 0,
    **settings: Any,
) -> TickLoop:
    kept = {"limits": ONE_A_TICK, "guarantees": {}, "act_interval": 0, **settings}
    loop = TickLoop(
        run="repaired",
        owners=OWNERS,
        ticks=until,
        exist="resume" if resume else "create",
        settings=Settings.tuned(data_dir=tmp_path, **kept),
        inline=True,
        client=client,
        start_minute=start,
    )
    with loop:
        for tick in loop:
            if tick.number < ASKED and tick.number % 10 == 0:
                for owner in OWNERS:
                    text = f"Saw a stranger at door {tick.number}."
                    loop.observe(owner, Entry(type="observation", text=text, minute=tick.minute, importance=4))
            if tick.number == ASKED:
                for owner in OWNERS:
                    loop.request("reflect", owner)
            if tick.number == ben_leaves:
                loop.leave("agent:ben")
    return loop


def ended(loop: TickLoop, kind: str) -> list[tuple[Ended, EndNote]]:
    client = loop.ledger.client
    return [
        (end, note)
        for line in read_journal(RunStore.open(client, "repaired"), 1, loop.tick)
        for end, note in zip(line.core.ended, line.notes.ended, strict=True)
        if end.key.kind == kind
    ]


def reflections(loop: TickLoop) -> dict[str, list[tuple[bool, bool]]]:
    """Return for each owner whether its reflections are provisional and whether they are live."""
    return {
        owner: [(e.provisional, stream.is_live(e.number)) for e in stream.entries.values() if e.type == "reflection"]
        for owner, stream in loop.state.streams.items()
    }


@pytest.fixture(scope="module")
def model() -> Iterator[dict[str, Any]]:
    with FakeEndpoint() as endpoint:
        yield {"llm": "openai", "base_url": endpoint.url, "api_key": "any", "limit_tokens": 10_000_000}


def test_denied_jobs_are_repaired_in_the_evening(tmp_path: Path, model: dict[str, Any]) -> None:
    client = empty_redis()
    loop = live(tmp_path, client, **model)
    assert reflections(loop) == {
        "agent:ann": [(False, True)],
        "agent:ben": [(True, False), (False, True)],
        "agent:cid": [(True, False), (False, True)],
        "agent:dora": [(True, False), (False, True)],
    }
    repaired = [end for end, _ in ended(loop, "reflect") if any(getattr(e, "replaces", 0) for e in end.effects)]
    assert [end.key.owner for end in repaired] == ["agent:ben", "agent:cid", "agent:dora"]
    assert [START + end.key.tick for end in repaired] == [EVENING, EVENING + 10, EVENING + 20], (
        "the limit admits one per tick"
    )
    for end in repaired:
        (append,) = [effect for effect in end.effects if isinstance(effect, Append)]
        stream = loop.state.streams[end.key.owner]
        assert append.entry.minute == stream.entries[append.replaces].minute
        assert stream.archived[append.replaces].into == stream.head.last_number
        assert stream.head.counters["reflect.minute"] == START + ASKED, "a repair does not move the next reflection"
    assert audit(client, "repaired") == []
    assert replay(client, "repaired", empty_redis()).digest == loop.digest


@pytest.mark.parametrize("stopped", [118, 125])
def test_a_resumed_run_makes_the_same_repairs(tmp_path: Path, model: dict[str, Any], stopped: int) -> None:
    whole = live(tmp_path, empty_redis(), **model)
    client = empty_redis()
    live(tmp_path, client, until=stopped, **model)
    assert live(tmp_path, client, resume=True, **model).digest == whole.digest


def test_an_owner_that_leaves_in_the_same_tick_is_not_repaired(tmp_path: Path, model: dict[str, Any]) -> None:
    client = empty_redis()
    loop = live(tmp_path, client, ben_leaves=EVENING - START, **model)
    repaired = [end for end, _ in ended(loop, "reflect") if any(getattr(e, "replaces", 0) for e in end.effects)]
    assert [end.key.owner for end in repaired] == ["agent:cid", "agent:dora"]
    assert audit(client, "repaired") == []


def test_without_left_over_budget_nothing_is_repaired(tmp_path: Path, model: dict[str, Any]) -> None:
    limits = {"tick.run.calls": 1, "day.kind:reflect.calls": 1}
    loop = live(tmp_path, empty_redis(), **{**model, "limits": limits})
    assert len(ended(loop, "reflect")) == 4
    assert sum(provisional and live for found in reflections(loop).values() for provisional, live in found) == 3


def test_a_repair_that_fails_changes_nothing_and_is_not_repeated_that_day(tmp_path: Path) -> None:
    gone = {"llm": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "any", "limit_tokens": 10_000_000}
    loop = live(tmp_path, empty_redis(), **gone, limits={}, job_deadline=0.2, claim_cap=1)
    found = ended(loop, "reflect")
    assert len(found) == 8, "each owner has one reflection and one attempt to repair it"
    assert [end.reason for end, _ in found] == ["failed"] * 8
    assert all(entries == [(True, True)] for entries in reflections(loop).values())
    assert {stream.head.counters[FAILED] for stream in loop.state.streams.values()} == {1}


def test_without_a_model_there_are_no_repairs(tmp_path: Path) -> None:
    loop = live(tmp_path, empty_redis())
    assert len(ended(loop, "reflect")) == 4


def test_plans_are_repaired_only_early_in_the_day(tmp_path: Path, model: dict[str, Any]) -> None:
    plans = [end.key.tick for end, _ in ended(live(tmp_path, empty_redis(), **model), "plan")]
    assert len(plans) == 4
    early = ended(live(tmp_path, empty_redis(), **model, repair_from=0, until=60, start=600), "plan")
    assert len(early) == 7, "three were denied at first"
    assert all(note.source == "llm" for _, note in early[-3:])

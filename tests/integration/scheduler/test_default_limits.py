"""What the default limits and user-set limits admit, with heuristics and with a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from tests.live_redis import empty_redis

TICKS = 42  # of ten minutes: until the morning's plans are due


@pytest.fixture(scope="module")
def model() -> Iterator[dict[str, Any]]:
    with FakeEndpoint() as endpoint:
        yield {
            "llm": "openai",
            "base_url": endpoint.url,
            "api_key": SecretStr("any"),
            "limit_tokens": 100_000_000,
            "repair_from": 1440,
        }


def plans(tmp_path: Path, agents: int, **settings: Any) -> tuple[Redis, Counter[tuple[str, str]]]:
    """Run a morning; return its server, and the number of plans by decision and source."""
    client = empty_redis()
    owners = {f"agent:{n}": Profile(name=f"A{n}") for n in range(agents)}
    chosen = Settings.tuned(data_dir=tmp_path, seconds_per_tick=600, act_interval=0, **settings)
    with TickLoop(run="r", owners=owners, settings=chosen, ticks=TICKS, inline=True, client=client) as loop:
        for _ in loop:
            pass
    assert audit(client, "r") == []
    lines = list(read_journal(RunStore.open(client, "r"), 1, TICKS))
    decided = {d.key: d.decision for line in lines for d in line.core.decided if d.key.kind == "plan"}
    made = {note.key: note.source for line in lines for note in line.notes.ended if note.key.kind == "plan"}
    assert decided.keys() == made.keys()
    return client, Counter((decided[key], made[key]) for key in decided)


def test_the_defaults_admit_every_plan_of_a_town_of_a_hundred(tmp_path: Path) -> None:
    client, found = plans(tmp_path, 100)
    assert found == {("admitted", "heuristic"): 100}
    assert summarise_run(client, "r").refused == {}
    assert summarise_run(client, "r").spent.calls == 0, "no model was called"


def test_the_defaults_admit_every_plan_of_a_town_of_a_hundred_with_a_model(
    tmp_path: Path, model: dict[str, Any]
) -> None:
    client, found = plans(tmp_path, 100, **model)
    assert found == {("admitted", "llm"): 100}
    assert summarise_run(client, "r").refused == {}
    assert summarise_run(client, "r").spent.calls == 100


@pytest.mark.parametrize("name", ["tick.run.jobs", "day.kind:plan.jobs", "run.kind:*.jobs"])
def test_a_limit_of_three_jobs_admits_three(tmp_path: Path, name: str) -> None:
    client, found = plans(tmp_path, 5, limits={name: 3})
    assert found == {("admitted", "heuristic"): 3, ("heuristic", "heuristic"): 2}
    assert summarise_run(client, "r").refused == {name: 2}


@pytest.mark.parametrize("name", ["tick.run.calls", "day.kind:plan.calls", "day.kind:plan.jobs"])
def test_a_limit_of_three_admits_three_with_a_model(tmp_path: Path, model: dict[str, Any], name: str) -> None:
    client, found = plans(tmp_path, 5, **model, limits={name: 3})
    assert found == {("admitted", "llm"): 3, ("heuristic", "heuristic"): 2}
    assert summarise_run(client, "r").spent.calls == 3


def test_a_call_limit_does_not_apply_to_heuristics(tmp_path: Path) -> None:
    _, found = plans(tmp_path, 5, limits={"run.run.calls": 0})
    assert found == {("admitted", "heuristic"): 5}

"""The limit of an experiment: at it, the experiment stops and can be continued, or goes on with heuristics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.integration.ops.experiment.experiment_case import rows_of, started, write_case
from tests.patience import LONGEST

LIMIT = 6_000


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(latency=0.05) as found:
        yield found


def swept(file: Path, endpoint: FakeEndpoint, code: int) -> dict[str, Any]:
    """Run the experiment to its end or limit, and return what the command printed."""
    sweep = started(file, endpoint.url, "--json")
    out, err = sweep.communicate(timeout=LONGEST)
    assert sweep.returncode == code, err
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def case(folder: Path, limit: str) -> Path:
    return write_case(folder, limit=limit, replicates=2, weathers='["sun", "rain"]')


def test_an_experiment_stops_at_its_limit_and_continues_once_it_is_raised(
    tmp_path: Path, endpoint: FakeEndpoint
) -> None:
    file = case(tmp_path / "case", f"limit_tokens = {LIMIT}")
    stopped = swept(file, endpoint, 1)
    asked = endpoint.stats()
    assert stopped["stopped_at_limit"]
    assert stopped["done"] < stopped["runs"] == 12
    assert asked.prompt_tokens + asked.completion_tokens == stopped["spent"]["tokens"] <= LIMIT
    again = swept(file, endpoint, 1)  # starts nothing
    assert (again["stopped_at_limit"], again["done"]) == (True, stopped["done"])
    assert endpoint.stats().requests == asked.requests
    case(tmp_path / "case", "limit_tokens = 100_000")
    rest = swept(file, endpoint, 0)
    assert (rest["done"], rest["stopped_at_limit"]) == (12, False)
    rows = rows_of(file.with_suffix("") / "runs.csv")
    assert {(row["by_model"], row["by_heuristic"]) for row in rows} == {("9", "0")}
    answered = endpoint.stats()
    assert sum(int(row["calls"]) for row in rows) == answered.requests  # no call was repeated
    assert sum(int(row["tokens"]) for row in rows) == rest["spent"]["tokens"]
    assert answered.prompt_tokens + answered.completion_tokens == rest["spent"]["tokens"]


def test_an_experiment_set_to_heuristics_continues_past_its_limit(tmp_path: Path, endpoint: FakeEndpoint) -> None:
    file = case(tmp_path / "case", f'limit_tokens = {LIMIT}\nat_limit = "heuristics"')
    found = swept(file, endpoint, 0)
    assert (found["done"], found["stopped_at_limit"]) == (12, False)
    rows = rows_of(file.with_suffix("") / "runs.csv")
    assert {int(row["by_model"]) + int(row["by_heuristic"]) for row in rows} == {9}
    assert sum(int(row["by_heuristic"]) for row in rows) > 0
    assert sum(int(row["tokens"]) for row in rows) == found["spent"]["tokens"] <= LIMIT


def test_a_changed_experiment_is_refused_in_the_same_folder(tmp_path: Path, endpoint: FakeEndpoint) -> None:
    file = case(tmp_path / "case", "limit_tokens = 100_000")
    file.write_text(file.read_text().replace("ticks = 4", "ticks = 2").replace("replicates = 2", "replicates = 1"))
    swept(file, endpoint, 0)
    file.write_text(file.read_text().replace("ticks = 2", "ticks = 3"))
    sweep = started(file, endpoint.url)
    _, err = sweep.communicate(timeout=LONGEST)
    assert sweep.returncode == 2
    assert "ticks changed since the runs" in err


def test_a_failed_host_is_named_and_the_others_finish(tmp_path: Path, endpoint: FakeEndpoint) -> None:
    file = case(tmp_path / "case", "limit_tokens = 100_000")
    world = file.parent / "council.py"
    world.write_text(
        world.read_text().replace("        self.seed,", "        assert weather == 'sun'\n        self.seed,")
    )
    found = swept(file, endpoint, 1)
    assert sorted(found["failed"]) == [f"c{n}-r{r}" for n in (1, 3, 5) for r in (1, 2)]
    assert found["done"] == 6
    assert "AssertionError" in (file.with_suffix("") / "logs" / "c1-r1.log").read_text()

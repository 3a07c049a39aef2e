"""What an experiment shows: an effect that was planted, and replicates that share no answer."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cogitate.ops.experiment.statistics import bootstrap, differences
from cogitate.ops.fake_llm.completions import FakeResponse, complete, content_digest
from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.integration.ops.experiment.experiment_case import COUNCIL, rows_of, started
from tests.patience import LONGEST

REPLICATES, TICKS, CHANGE = 12, 9, 5
EFFECT = 0.25  # by which rain makes a vote for a motion more likely

EXPERIMENT = f"""
world = "council:Council"
ticks = {TICKS}
replicates = {REPLICATES}
limit_tokens = 10_000_000
measures = ["council:yes"]
base.settings.llm = "openai"
"""
FORKED = f'{EXPERIMENT}at = "{CHANGE}"\nconditions.world.weather = ["sun", "rain"]\n'
APART = f'{EXPERIMENT}seed = 100\nbase.world = {{weather = "rain", since = {CHANGE}}}\n'


class Voters:
    """A stand-in whose votes depend on the prompt and on a nonce: how often it was asked before.

    A council has an inclination of its own, so that councils differ more than the weather makes them.
    """

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def answer(self, request: Mapping[str, Any], in_flight: int) -> FakeResponse:
        digest = content_digest(request)
        nonce, self._asked[digest] = self._asked[digest], self._asked[digest] + 1
        motions = re.findall(r"Motion (\d+)\.\d+, in the (\w+)", json.dumps(request["messages"]))
        council, weather = motions[-1] if motions else ("0", "sun")
        inclination = 0.1 + 0.55 * Random(f"council {council}").random()
        yes = Random(f"{digest} {nonce}").random() < inclination + EFFECT * (weather == "rain")
        made = complete(request, 0, None)
        body = json.loads(made.body)
        body["choices"][0]["message"]["content"] = json.dumps({"yes": yes})
        return replace(made, body=json.dumps(body).encode())


def sweep(folder: Path, text: str, endpoint: FakeEndpoint) -> Path:
    """Run an experiment to its end, and return its folder."""
    folder.mkdir()
    (folder / "council.py").write_text(COUNCIL)
    (folder / "votes.toml").write_text(text)
    done = started(folder / "votes.toml", endpoint.url)
    _, err = done.communicate(timeout=3 * LONGEST)
    assert done.returncode == 0, err
    return folder / "votes"


def votes(folder: Path, condition: str) -> dict[int, float]:
    """Return the votes for a motion in each replicate."""
    return {
        int(row["replicate"]): float(row["value"])
        for row in rows_of(folder / "measures.csv")
        if (row["measure"], row["condition"]) == ("yes", condition)
    }


def test_paired_forks_tell_an_effect_at_half_the_width_of_independent_runs(tmp_path: Path) -> None:
    with FakeEndpoint(rule=Voters().answer) as endpoint:
        forked = sweep(tmp_path / "forked", FORKED, endpoint)
        apart = sweep(tmp_path / "apart", APART, endpoint)
    usual, rain, independent = (
        votes(forked, "weather=sun"),
        votes(forked, "weather=rain"),
        votes(apart, "base"),
    )
    paired = bootstrap(differences(usual, rain), "paired")
    unpaired = bootstrap(differences(usual, independent), "independent")
    assert (paired.n, unpaired.n) == (REPLICATES, REPLICATES)
    assert paired.width <= unpaired.width / 2
    assert paired.low > 0
    expected = EFFECT * 3 * 2  # three councillors, who vote twice on the only motion after the change, of tick 7
    assert paired.low <= expected <= paired.high
    rows = rows_of(forked / "runs.csv")
    later = [int(row["calls"]) for row in rows if row["base"] == "False"]
    assert max(later) < min(int(row["calls"]) for row in rows if row["base"] == "True")  # what came before cost nothing
    assert {int(row["by_heuristic"]) for row in rows} == {0}


@pytest.mark.parametrize("latency", [0.0, 0.4])
def test_replicates_on_shared_workers_share_no_answer(tmp_path: Path, latency: float) -> None:
    councils = f"{EXPERIMENT}base.world.alike = true\n".replace(f"replicates = {REPLICATES}", "replicates = 5")
    with FakeEndpoint(latency=latency, rule=Voters().answer) as endpoint:
        folder = sweep(tmp_path / "alike", councils.replace(f"ticks = {TICKS}", "ticks = 5"), endpoint)
        asked = endpoint.stats()
    rows = rows_of(folder / "runs.csv")
    assert [row["by_model"] for row in rows] == ["12"] * 5  # 60 answers to twelve prompts
    assert sum(int(row["calls"]) for row in rows) == asked.answers >= 60
    assert len({row["digest"] for row in rows}) > 1

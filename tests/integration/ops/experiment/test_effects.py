"""Experiments measure a planted effect, and their replicates share no answer."""

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
EFFECT = 0.25  # added by rain to the probability of a vote for a motion

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
    """A rule of the fake endpoint whose votes depend on the prompt and on a nonce: how often it was asked before.

    Each council has its own inclination, so councils differ by more than the effect of the weather.
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
    """Return the number of votes for motions in each replicate of a condition."""
    return {
        int(row["replicate"]): float(row["value"])
        for row in rows_of(folder / "measures.csv")
        if (row["measure"], row["condition"]) == ("yes", condition)
    }


def test_paired_forks_measure_an_effect_with_half_the_width_of_independent_runs(tmp_path: Path) -> None:
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
    expected = EFFECT * 3 * 2  # three councillors vote twice on tick 7's motion, the only one after the change
    assert paired.low <= expected <= paired.high
    rows = rows_of(forked / "runs.csv")
    later = [int(row["calls"]) for row in rows if row["base"] == "False"]
    assert max(later) < min(int(row["calls"]) for row in rows if row["base"] == "True")  # forks repeat no earlier call
    assert {int(row["by_heuristic"]) for row in rows} == {0}


@pytest.mark.parametrize("latency", [0.0, 0.4])
def test_replicates_on_shared_workers_share_no_answer(tmp_path: Path, latency: float) -> None:
    councils = f"{EXPERIMENT}base.world.alike = true\n".replace(f"replicates = {REPLICATES}", "replicates = 5")
    with FakeEndpoint(latency=latency, rule=Voters().answer) as endpoint:
        folder = sweep(tmp_path / "alike", councils.replace(f"ticks = {TICKS}", "ticks = 5"), endpoint)
        asked = endpoint.stats()
    rows = rows_of(folder / "runs.csv")
    assert [row["by_model"] for row in rows] == ["12"] * 5  # 60 answers to 12 distinct prompts
    assert sum(int(row["calls"]) for row in rows) == asked.answers >= 60
    assert len({row["digest"] for row in rows}) > 1

"""What a file of an experiment says, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cogitate.ops.experiment.plan import NO_LIMIT, Experiment, read_experiment
from cogitate.scheduler.config.controls import SetCadence
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.journal.changes import SetSetting

TOWN: dict[str, Any] = {"town": 3, "ticks": 10}


def planned(**given: Any) -> Experiment:
    return read_experiment(TOWN | given)


def test_every_combination_has_a_run_in_each_replicate_and_the_first_values_are_the_base() -> None:
    experiment = planned(
        conditions={"settings": {"policy": ["stream", "cells"]}, "world": {"unchanged": [30, 60, 90]}},
        replicates=2,
        seed=7,
    )
    runs = list(experiment.runs())
    assert [run.name for run in runs][:7] == ["c0-r1", "c1-r1", "c2-r1", "c3-r1", "c4-r1", "c5-r1", "c0-r2"]
    assert len({run.name for run in runs}) == 12
    assert [run.seed for run in runs] == [7] * 6 + [8] * 6
    assert runs[0].condition.label == "policy=stream, unchanged=30"
    assert runs[5].condition.label == "policy=cells, unchanged=90"
    assert {run.source for run in runs} == {None}
    assert experiment.settings_of(runs[5].condition).policy == "cells"
    assert experiment.value_of("world", runs[5].condition) == {"unchanged": 90}


def test_conditions_that_fork_do_so_from_the_base_of_their_replicate() -> None:
    experiment = planned(
        at="5",
        base={"settings": {"limits": {"day.run.jobs": 9, "run.run.tokens": 7}}},
        conditions={
            "settings": {"limits": [{"run.run.tokens": 7}, {"run.run.tokens": 8}]},
            "cadence": {"reflect": [1, 0.5]},
        },
        replicates=2,
    )
    runs = {run.name: run for run in experiment.runs()}
    assert [runs[f"c{n}-r2"].source for n in range(4)] == [None, "c0-r2", "c0-r2", "c0-r2"]
    half = SetCadence(kind="reflect", factor=500, pinned=True)
    assert experiment.changes_of(runs["c1-r1"].condition) == (half,)
    assert experiment.changes_of(runs["c2-r1"].condition) == (SetSetting("limits", {"run.run.tokens": 8}),)
    assert experiment.changes_of(runs["c3-r1"].condition) == (SetSetting("limits", {"run.run.tokens": 8}), half)


def test_a_run_with_a_model_is_limited_by_the_experiment_alone_unless_it_has_a_limit() -> None:
    base = {"settings": {"llm": "openai"}}
    experiment = planned(base=base, limit_tokens=1_000)
    assert experiment.settings_of(experiment.grid()[0]).limit_tokens == NO_LIMIT
    experiment = planned(base={"settings": {"llm": "openai", "limit_tokens": 5}}, limit_tokens=1_000)
    assert experiment.settings_of(experiment.grid()[0]).limit_tokens == 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"story": True}, "give one of town, story, world, command"),
        ({"town": None}, "give one of town, story, world, command"),
        ({"days": 1}, "give days = 1 or ticks = 10, not both"),
        ({"replicates": 0}, "replicates = 0 must be above 0"),
        ({"conditions": {"world": {"unchanged": 3}}}, "conditions.world.unchanged must be a list of values"),
        ({"conditions": {"world": {"unchanged": [3, 3]}}}, "list each value only once"),
        ({"conditions": {"weather": {"rain": [1]}}}, "weather"),
        ({"conditions": {"settings": {"no_such": [1, 2]}}}, "conditions.settings.no_such"),
        ({"conditions": {"settings": {"concurrency": [1, 2]}}}, "all runs share the workers"),
        ({"conditions": {"settings": {"policy": ["cells", "bags"]}}}, "policy"),
        ({"conditions": {"settings": {"policy": ["stream", "cells"]}}, "at": "5"}, "cannot change within a run"),
        ({"conditions": {"cadence": {"plan": [1, 0.5]}}}, "only reflect can be throttled"),
        ({"base": {"settings": {"llm": "openai"}}}, "give limit_tokens or limit_usd, for all runs together"),
        ({"base": {"settings": {"real_day_usd": 1}}}, "unset real_day_tokens and real_day_usd"),
        ({"base": {"settings": {"redis_url": "redis://localhost"}}}, "starts its own server"),
        ({"town": None, "command": ["a"], "at": "5"}, "write {source} and {tick}"),
        ({"town": None, "command": ["a"], "base": {"cadence": {"reflect": 1}}}, "a command sets its cadences itself"),
        ({"replicates": 20_000}, "at most 10,000"),
        ({"hosts": "many"}, "hosts"),
    ],
)
def test_an_invalid_plan_is_refused(given: dict[str, Any], said: str) -> None:
    meant = {name: value for name, value in (TOWN | given).items() if value is not None}
    with pytest.raises(ConfigurationError) as refused:
        read_experiment(meant)
    assert said in str(refused.value)


def test_a_file_is_named_with_its_fault(tmp_path: Path) -> None:
    file = tmp_path / "rain.toml"
    file.write_text("town = 3\nticks = ")
    with pytest.raises(ConfigurationError, match=r"rain\.toml: this is not TOML"):
        read_experiment(file)
    file.write_text("town = 3\nrain = true")
    with pytest.raises(ConfigurationError, match=r"rain\.toml: .*rain"):
        read_experiment(file)


def test_the_identity_contains_only_settings_that_change_runs() -> None:
    usual = planned(limit_tokens=5)
    assert planned(limit_tokens=6, replicates=9, hosts=1, measures=["a:b"]).identity() == usual.identity()
    assert planned(seed=1).identity() != usual.identity()
    assert planned(conditions={"world": {"unchanged": [3]}}).identity() != usual.identity()

"""A change of a fork takes effect after its tick, is audited and resumed, and is named as the cause of differences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.memory.errors import CogitateError
from cogitate.ops.commands.compare import comparison_lines
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_driver import drive
from cogitate.prompts.render import FOLDER
from cogitate.scheduler.config.controls import SetLimit
from cogitate.scheduler.config.facts import FIXED
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.comparison import compare_runs
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import RunSummary, summarise_run
from cogitate.scheduler.journal.changes import (
    AddEvent,
    AddObservation,
    Change,
    DropObservation,
    Fork,
    RewordObservation,
    SetProfile,
    SetSetting,
    SetTemplate,
)
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.run_store import RunStore
from tests.integration.scheduler.test_forks import Killed, Visited, killed_at, opened
from tests.live_redis import empty_redis

AT, TICKS = 30, 90  # ticks of two minutes, from ten o'clock on
START = 600
STRANGER = "A stranger asks about the harbour."


class Runs:
    """Runs of a town of five on one server: a source and its forks."""

    def __init__(self, client: Redis, endpoint: FakeEndpoint, folder: Path) -> None:
        self.client = client
        self._endpoint = endpoint
        self.folder = folder
        self.live("source")
        self.owner = min(owner for owner, _ in self.lines("source")[0].core.joined if owner.startswith("agent:"))

    def live(
        self,
        run: str,
        *changes: Change,
        source: str = "source",
        at: int = AT,
        resume: bool = False,
        killed: int = 0,
        visit: int = 0,
        tick_rate: float | None = None,
    ) -> RunSummary:
        """Host a run to its end, and audit and replay it."""
        town = Visited(visit, start_minute=START)
        fork = Fork(run=source, tick=at, changes=changes) if run != "source" and not resume else None
        with opened(
            town,
            self._endpoint,
            self.folder,
            {"act_interval": 15, "tick_rate": tick_rate},
            run=run,
            ticks=TICKS,
            inline=True,
            client=self.client,
            fork=fork,
            exist="resume" if resume else "create",
        ) as loop:
            drive(loop, town, on_tick=killed_at(killed))
        assert audit(self.client, run) == []
        replay(self.client, run, redis_in_memory())
        return summarise_run(self.client, run)

    def lines(self, run: str) -> list[ReadLine]:
        store = RunStore.open(self.client, run)
        return list(read_journal(store, 1, store.tick()))

    def digests(self, run: str) -> list[str]:
        return [line.digest for line in self.lines(run)]

    def calls(self, run: str) -> int:
        return sum(spent.cost.calls for line in self.lines(run) for spent in spending(line.notes))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    with FakeEndpoint() as endpoint:
        yield Runs(empty_redis(), endpoint, tmp_path_factory.mktemp("runs"))


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Return a name for a fork."""
    return f"fork-{abs(hash(request.node.name))}"


SETTINGS: dict[str, Any] = {
    "act_interval": 10,
    "jobs.act_interval": 0,
    "disable": ["act"],
    "model": "another",
    "models.default.seed": 7,
    "llm": "heuristic",
    "spending": "value",
    "latency": {"act": 3},
    "guarantees": {"plan": 0.5},
    "limit_tokens": 90_000,
    "budget.limits.day.run.calls": 3,
    "max_observations": 20,
    "retention_days": 0,
    "reflection_trigger": "either",
    "retrieval": "dialogue",
    "morning": 480,
    "repair_from": 400,
    "guidance_style": "structured",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_changed_setting_leaves_the_ticks_before_the_fork_as_they_were(runs: Runs, name: str, setting: str) -> None:
    change = SetSetting(setting, SETTINGS[setting])
    runs.live(name, change)
    lines = runs.lines(name)
    assert runs.digests(name)[:AT] == runs.digests("source")[:AT]
    assert sum(spent.cost.calls for line in lines[:AT] for spent in spending(line.notes)) == 0
    assert lines[0].notes.origin is not None
    assert change in lines[0].notes.origin.changes


def test_a_comparison_names_the_setting_that_differs(runs: Runs, name: str) -> None:
    runs.live(name, SetSetting("max_observations", 20))
    difference = compare_runs(runs.client, "source", name, runs.folder).difference
    assert difference is not None
    assert (difference.tick, difference.cause) == (AT + 1, "setting")
    assert (difference.a, difference.b) == ("max_observations = 200", "max_observations = 20")


@pytest.mark.parametrize("setting", FIXED)
def test_a_setting_that_cannot_change_is_refused_with_the_reason(runs: Runs, name: str, setting: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{setting} cannot change within a run: {FIXED[setting]}"):
        runs.live(name, SetSetting(setting, 1))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (SetSetting("data_dir", "x"), "set it where the run is hosted"),
        (SetSetting("colour", "red"), "there is no such setting"),
        (SetSetting("act_interval", -1), "act_interval"),
        (SetSetting("act_interval.a", 1), "act_interval is not a table"),
        (SetSetting("tiers", {"strong": "nobody"}), "nobody"),
        (SetTemplate("sonnet", "{% block system %}"), "there is no prompt template 'sonnet'"),
        (SetTemplate("act", "{% block system %}"), "act.j2 of the run"),
        (DropObservation(AT, "a"), f"cannot change tick {AT}, which it repeats"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(runs: Runs, name: str, change: Change, error: str) -> None:
    with pytest.raises(CogitateError, match=error):
        runs.live(name, change)


@pytest.mark.parametrize("tick", [AT - 1, AT, AT + 1, AT + 2])
def test_a_killed_fork_with_changes_resumes_to_the_same_digest(runs: Runs, name: str, tick: int) -> None:
    changes = SetSetting("act_interval", 5), SetLimit("day.run.jobs", 60)
    whole = runs.live(f"{name}-whole", *changes)
    with pytest.raises(Killed):
        runs.live(name, *changes, killed=tick)
    assert runs.live(name, resume=True).digest == whole.digest
    answers = [answer for line in runs.lines(name) for answer in line.notes.answers]
    assert [(answer.tick, answer.control) for answer in answers] == [(AT + 1, changes[1])]


def test_another_model_is_asked_after_the_tick_of_the_fork(runs: Runs, name: str) -> None:
    runs.live(name, SetSetting("model", "another"))
    asked = {note.model for line in runs.lines(name) for note in line.notes.ended if note.source == "llm"}
    assert asked == {"default"}
    facts = [line.core.facts for line in runs.lines(name) if line.core.facts is not None]
    assert [one.models[0].model for one in facts] == ["gpt-4o-mini", "another"]
    found = compare_runs(runs.client, "source", name, Path())
    assert found.difference is not None
    assert (found.difference.tick, found.difference.cause) == (AT + 1, "setting")
    assert "another" in found.difference.b
    assert 'changed: setting model = "another"' in "\n".join(comparison_lines(found))


def test_another_template_is_used_after_the_tick_of_the_fork(runs: Runs, name: str) -> None:
    text = (FOLDER / "act.j2").read_text().replace("{% block user %}", "{% block user %}Be bold.\n")
    runs.live(name, SetTemplate("act", text))
    versions = [
        (line.core.tick, note.prompt)
        for line in runs.lines(name)
        for ended, note in zip(line.core.ended, line.notes.ended, strict=True)
        if ended.key.kind == "act" and note.prompt
    ]
    before, after = ({prompt for tick, prompt in versions if (tick > AT) == late} for late in (False, True))
    assert len(after - before) == 1
    found = compare_runs(runs.client, "source", name, Path())
    assert found.difference is not None
    assert (found.difference.tick, found.difference.cause) == (AT + 1, "template")


def test_an_observation_is_added_dropped_and_reworded(runs: Runs, name: str) -> None:
    seen = [(line.core.tick, *one) for line in runs.lines("source")[AT:] for one in line.core.observed]
    (drop_at, drop_of, dropped), (reword_at, reword_of, reworded) = seen[:2]  # before the changes affect what agents do
    runs.live(
        name,
        AddObservation(AT + 1, runs.owner, {"text": STRANGER, "importance": 7}),
        AddEvent(AT + 2, {"kind": "discussion_statement", "speaker": runs.owner, "text": "The mill is for sale."}),
        DropObservation(drop_at, dropped.text, drop_of),
        RewordObservation(reword_at, reworded.text, "Nothing at all.", reword_of),
    )
    lines = runs.lines(name)
    texts = {line.core.tick: [(owner, entry.text) for owner, entry in line.core.observed] for line in lines}
    assert (runs.owner, STRANGER) in texts[AT + 1]
    assert any("The mill is for sale" in text for _, text in texts[AT + 2])
    assert (drop_of, dropped.text) not in texts[drop_at]
    assert (reword_of, "Nothing at all.") in texts[reword_at]
    found = compare_runs(runs.client, "source", name, Path())
    assert found.difference is not None
    assert (found.difference.tick, found.difference.cause) == (AT + 1, "observation")


def test_a_profile_changes_at_a_tick(runs: Runs, name: str) -> None:
    runs.live(name, SetProfile(AT + 5, runs.owner, {"occupation": "smuggler", "name": "Nemo"}))
    profiled = {line.core.tick: dict(line.core.profiled) for line in runs.lines(name) if line.core.profiled}
    assert [(tick, profile[runs.owner].occupation) for tick, profile in profiled.items()] == [(AT + 5, "smuggler")]
    found = compare_runs(runs.client, "source", name, Path())
    assert found.difference is not None
    assert (found.difference.tick, found.difference.cause, found.difference.owner) == (AT + 5, "profile", runs.owner)
    assert 'name = "Nemo", occupation = "smuggler"' in found.difference.b


def test_a_change_without_a_target_is_counted_and_changes_nothing(runs: Runs, name: str) -> None:
    summary = runs.live(
        name,
        DropObservation(AT + 1, "a text that no owner has observed"),
        AddObservation(AT + 2, "agent:nobody", {"text": STRANGER}),
    )
    assert summary.warnings["fork.change_unmade"] == 2
    assert runs.digests(name) == runs.digests("source")


def test_an_unchanged_fork_of_a_changed_fork_equals_it(runs: Runs, name: str) -> None:
    changes = (
        SetSetting("act_interval", 5),
        SetSetting("model", "another"),
        SetProfile(AT + 5, runs.owner, {"occupation": "smuggler"}),
        AddObservation(AT + 8, runs.owner, {"text": STRANGER}),
    )
    runs.live(name, *changes)
    for at in (AT - 10, AT, AT + 6, AT + 20):
        runs.live(f"{name}-{at}", source=name, at=at)
        assert runs.digests(f"{name}-{at}") == runs.digests(name)
        assert runs.calls(f"{name}-{at}") == 0


def test_a_changed_fork_of_a_changed_fork_has_both_changes(runs: Runs, name: str) -> None:
    runs.live(name, SetSetting("act_interval", 5), at=AT + 20)
    runs.live(f"{name}-more", SetSetting("disable", ["reflect"]), source=name, at=AT)
    facts = [
        (line.core.tick, line.core.facts.act_interval)
        for line in runs.lines(f"{name}-more")
        if line.core.facts is not None
    ]
    assert facts == [(1, 15), (AT + 21, 5)]
    kept = json.loads(RunStore.open(runs.client, f"{name}-more").field("state", "settings") or b"")
    assert (kept["act_interval"], kept["disable"]) == (5, ["reflect"])

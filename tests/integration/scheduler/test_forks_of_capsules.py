"""A fork needs no more of its source than its capsule: the server that had it may be gone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from cogitate.hosting.redis_in_memory import redis_in_memory
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.errors import CogitateError
from cogitate.memory.profile import Profile
from cogitate.ops.capsule.writing import write_capsule
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.changes import Fork
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.journal.fork_source import source_of
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.origin import SourceJournal, origin_of
from cogitate.scheduler.ledger.run_store import RunStore, run_exists
from tests.integration.command import summary, typed
from tests.integration.scheduler.test_forks import NOON, TICKS, Visited, digests, hosted, opened
from tests.integration.scheduler.test_trimming import live, settings_of
from tests.live_redis import empty_redis
from tests.repository import ROOT
from tests.unit.ops.test_capsules import content_of, rewritten


def test_a_fork_of_a_capsule_equals_its_source_without_a_call(client: Redis, tmp_path: Path) -> None:
    with FakeEndpoint(faults={"429": 0.1, "broken_json": 0.1}) as endpoint:
        source = hosted(client, endpoint, tmp_path, "source")
        assert source.spent.calls > 20
        file = tmp_path / "source.capsule"
        told = write_capsule(client, "source", Settings(data_dir=tmp_path), file)
        assert (told.digest, told.ticks) == (source.digest, TICKS)
        elsewhere = redis_in_memory()
        fork = hosted(elsewhere, endpoint, tmp_path, "source", fork=Fork(run="source", tick=NOON, capsule=file))
        assert (fork.digest, fork.spent.calls) == (source.digest, 0)
    assert digests(elsewhere, "source") == digests(client, "source")
    origin = origin_of(RunStore.open(elsewhere, "source"))
    assert origin is not None
    assert (origin.run, origin.tick, origin.digest) == ("source", NOON, digests(client, "source")[NOON - 1])


def test_a_capsule_contains_the_recorded_prompts_and_answers(client: Redis, tmp_path: Path) -> None:
    town = Visited(0)
    with (
        FakeEndpoint() as endpoint,
        opened(town, endpoint, tmp_path, {"record": True}, run="seen", ticks=240, inline=True, client=client) as loop,
    ):
        drive(loop, town)
    file = tmp_path / "seen.capsule"
    told = write_capsule(client, "seen", Settings(data_dir=tmp_path), file)
    answers = [json.loads(line) for line in content_of(file)["answers.jsonl"].splitlines()]
    by_model = sum(
        1 for line in read_journal(RunStore.open(client, "seen"), 1, 240) for n in line.notes.ended if n.prompt
    )
    assert told.answers == len(answers) == by_model > 3
    assert all(one["system"] and one["user"] and one["answer"] for one in answers)
    assert told.other_prompts == 0


def test_a_trimmed_run_can_be_forked_from_its_capsule(tmp_path: Path) -> None:
    lived = live(empty_redis(), settings_of(tmp_path, 1))
    assert trimmed_tick(lived.store)
    file = tmp_path / "town.capsule"
    told = write_capsule(lived.store.client, "town", Settings(data_dir=tmp_path), file)
    elsewhere = redis_in_memory()
    fork = Fork(run="town", tick=told.ticks, capsule=file)
    source = source_of(elsewhere, fork, Settings())
    to = RunStore.of(elsewhere, "fork", "now")
    source.copy(to)
    journal = SourceJournal(to)
    assert journal.last == told.ticks
    lines = [journal.line(tick) for tick in range(1, told.ticks + 1)]
    assert [line and line.digest for line in lines][-1] == told.digest == source.origin.digest


def small_run(client: Redis, folder: Path) -> Path:
    """Host a run of ten ticks, and write its capsule."""
    with TickLoop(run="small", owners={"agent:ada": Profile(name="Ada")}, ticks=10, inline=True, client=client) as loop:
        for tick in loop:
            loop.observe("agent:ada", {"text": f"The clock strikes {tick.number}."})
    write_capsule(client, "small", Settings(data_dir=folder), folder / "small.capsule")
    return folder / "small.capsule"


def test_a_fork_of_a_capsule_diverges_where_its_host_differs(client: Redis, tmp_path: Path) -> None:
    file, elsewhere = small_run(client, tmp_path), redis_in_memory()
    fork = Fork(run="small", tick=6, capsule=file)
    owners = {"agent:ada": Profile(name="Ada")}
    with TickLoop(run="other", owners=owners, ticks=10, inline=True, client=elsewhere, fork=fork) as loop:
        for tick in loop:
            said = "The clock stands still." if tick.number == 8 else f"The clock strikes {tick.number}."
            loop.observe("agent:ada", {"text": said})
    assert audit(elsewhere, "other") == []
    one, other = digests(client, "small"), digests(elsewhere, "other")
    assert [tick for tick in range(1, 11) if one[tick - 1] != other[tick - 1]] == [8, 9, 10]


@pytest.mark.parametrize(
    ("fork", "kept", "match"),
    [
        ({"run": "large"}, {}, "holds run 'small', not 'large'"),
        ({"tick": 11}, {}, "cannot be forked at tick 11: give a tick from 1 to 10"),
        ({}, {"base_url": "http://elsewhere.example/v1"}, "does not keep the setting 'base_url'"),
        ({}, {"kinds": ["antigravity"]}, "does not keep the setting 'kinds'"),
        ({}, {"prompts": "/etc"}, "does not keep the setting 'prompts'"),
        ({}, {"redis_url": "redis://elsewhere.example"}, "does not keep the setting 'redis_url'"),
        ({}, {"max_observations": 10**400}, "cannot be forked: its settings"),
        ({}, {"limits": {"day.run.calls": -1}}, "cannot be forked: its settings"),
        ({}, {"act_per_tick": "many"}, "cannot be forked: its settings"),
        ({}, {"prices": {"default": 1}}, "cannot be forked: its settings"),
        ({}, {"models": {"other": {"endpoint": "theirs", "model": "m"}}}, "which is not configured"),
    ],
)
def test_a_mismatched_or_hostile_capsule_is_refused_and_makes_no_run(
    client: Redis, tmp_path: Path, fork: dict[str, Any], kept: dict[str, Any], match: str
) -> None:
    members = content_of(small_run(client, tmp_path))
    settings = json.loads(members["settings.json"]) | kept
    file = rewritten(tmp_path / "other.capsule", members | {"settings.json": json.dumps(settings).encode()})
    elsewhere = redis_in_memory()
    with (
        pytest.raises(CogitateError, match=match),
        TickLoop(
            run="fork",
            owners={"agent:ada": Profile(name="Ada")},
            ticks=10,
            inline=True,
            client=elsewhere,
            fork=Fork(**({"run": "small", "tick": 6, "capsule": file} | fork)),
        ),
    ):
        pass
    assert not run_exists(elsewhere, "fork")


def test_the_command_forks_a_capsule_with_an_empty_data_folder(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    source = summary("run", "--town", 2, "--ticks", 400, "--run", "town", "--workers", 0, data_dir=here)
    assert typed("export", "town", "--format", "capsule", "--out", "town.capsule", data_dir=here).returncode == 0
    arguments = ("fork", "town.capsule", "--at", "day 1 06:00", "--run", "noon", "--workers", 0)
    assert summary(*arguments, data_dir=there)["digest"] == source["digest"]
    file = tmp_path / "town.capsule"
    for description, match in (
        (
            {"world": "recorded", "path": "/etc", "minutes_per_tick": "1", "ticks": "9"},
            "its world is a recording, which is not in it",
        ),
        ({"world": "town", "agents": "9" * 5_000}, "its description has no number for 'agents'"),
        ({"world": "mine"}, "was not created by `cogitate run`"),
        ({"world": "town"}, "its description has no number for 'agents'"),
    ):
        rewritten(tmp_path / "other.capsule", content_of(file), description=description)
        found = typed("fork", "other.capsule", "--at", "9", "--run", "x", data_dir=there)
        assert (found.returncode > 0, found.stderr.count("\n"), match in found.stderr) == (True, 1, True), found.stderr


def test_a_recorded_world_is_forked_from_its_capsule_without_the_recording(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    recording = tmp_path / "recording"
    shutil.copytree(ROOT / "simulation" / "recordings" / "small", recording)
    started = ("run", "--recorded", recording, "--ticks", 120, "--run", "played", "--workers", 1)
    source = summary(*started, data_dir=here)
    out = tmp_path / "played.capsule"
    assert typed("export", "played", "--format", "capsule", "--out", out, data_dir=here).returncode == 0
    shutil.rmtree(recording)
    shutil.rmtree(here)
    fork = summary("fork", out, "--at", 60, "--run", "again", "--workers", 1, data_dir=there)
    assert fork["digest"] == source["digest"]

"""`cogitate import`: a file becomes a run that can be audited, replayed, read, exported and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cogitate import Profile, Settings, TickLoop
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed
from tests.repository import ROOT
from tests.unit.ops.foreign_agents import convex_export, write_each

ADA, BEN = "agent:ada", "agent:ben-cole"
LINES = [
    {"owner": ADA, "text": "Ben owes me a ploughshare.", "minute": 480, "importance": 6},
    {"owner": ADA, "text": "Debts spoil friendships.", "minute": 900, "importance": 8, "type": "reflection"},
    {"owner": ADA, "text": "Ben owes me a ploughshare.", "minute": 481, "importance": 6},
    {"owner": "Ben Cole", "text": "The mill wheel broke.", "minute": 90_000, "importance": 7},
]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("import") / "data"
    with EmbeddedServer(folder):
        yield folder


def done(*arguments: object, data_dir: Path) -> dict[str, Any]:
    """Run a command, check that it succeeds, and return the JSON object that it prints."""
    ended = typed(*arguments, "--json", data_dir=data_dir)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def exported(run: str, data_dir: Path) -> dict[str, list[tuple[str, int, int, str]]]:
    """Export a run, and return each owner's memories."""
    file = data_dir.parent / f"{run}-exported.jsonl"
    assert typed("export", run, "--what", "memories", "--out", file, data_dir=data_dir).returncode == 0
    streams = [json.loads(line) for line in file.read_text().splitlines()]
    return {
        stream["owner"]: [
            (entry["text"], entry["minute"], entry.get("importance", 0), entry["type"]) for entry in stream["entries"]
        ]
        for stream in streams
    }


def test_an_import_is_an_ordinary_run_that_continues(data_dir: Path) -> None:
    file = data_dir.parent / "village.jsonl"
    file.write_text("\n".join(map(json.dumps, LINES)) + "\nnope\n")
    made = done("import", file, "--run", "village", data_dir=data_dir)
    assert made["owners"] == {ADA: 3, BEN: 1}
    assert (made["left_out"], made["tick"], made["archived"]) == ({"line": 1}, 1, 0)

    assert typed("audit", "village", data_dir=data_dir).returncode == 0
    assert typed("replay", "village", "--verify", data_dir=data_dir).returncode == 0
    assert "Debts spoil friendships." in typed("memory", "village", ADA, data_dir=data_dir).stdout

    # An export can be imported again.
    before = exported("village", data_dir)
    assert before[ADA][0] == ("Ben owes me a ploughshare.", 480, 6, "observation")
    done("import", data_dir.parent / "village-exported.jsonl", "--run", "again", data_dir=data_dir)
    assert exported("again", data_dir) == before

    with TickLoop(
        run="village", owners={}, settings=Settings(data_dir=data_dir, workers=0), exist="resume", log_warnings=False
    ) as loop:
        assert [one.entry.text for one in loop.memory(BEN).recall("What happened to the mill?", limit=1)] == [
            "The mill wheel broke."
        ]
        with loop.next_tick() as tick:
            loop.observe(ADA, {"text": "Ben paid.", "minute": tick.minute})
        assert tick.number == 2
    assert typed("audit", "village", data_dir=data_dir).returncode == 0


def test_the_owners_of_an_import_plan_and_reflect_in_the_resumed_run(data_dir: Path) -> None:
    file = data_dir.parent / "thinkers.jsonl"
    file.write_text("\n".join(map(json.dumps, LINES)))
    done("import", file, "--run", "thinkers", data_dir=data_dir)
    went_on = done(
        "run", "--run", "thinkers", "--resume", "--ticks", 30, "--workers", 0, "--wait", 0, data_dir=data_dir
    )
    assert went_on["run"] == "thinkers"
    again = exported("thinkers", data_dir)
    assert {row[3] for row in again[ADA]} >= {"observation", "reflection", "plan"}  # the file had no plan
    assert [row for row in again[BEN] if row[3] == "observation"] == [
        ("The mill wheel broke.", 90_000, 7, "observation")
    ]
    assert typed("audit", "thinkers", data_dir=data_dir).returncode == 0
    assert typed("replay", "thinkers", "--verify", data_dir=data_dir).returncode == 0


def test_a_save_of_generative_agents_is_imported_and_exported(data_dir: Path) -> None:
    recorded = ROOT / "simulation" / "recordings" / "small"
    made = done("import", recorded, "--run", "small", data_dir=data_dir)
    assert (made["format"], sorted(made["owners"])) == (
        "generative-agents",
        ["agent:amara-okafor", "agent:isabella-rossi", "agent:jonas-lindqvist"],
    )
    assert made["memories"] == sum(made["owners"].values())
    assert typed("audit", "small", data_dir=data_dir).returncode == 0

    folder = data_dir.parent / "save"
    out = ("--what", "memories", "--format", "generative-agents", "--out", folder)
    written = typed("export", "small", *out, data_dir=data_dir)
    assert written.returncode == 0, written.stderr
    assert f"{made['memories']:,} memories of 3 personas" in written.stderr
    done("import", folder, "--run", "small-again", data_dir=data_dir)
    assert exported("small-again", data_dir) == exported("small", data_dir)
    assert typed("export", "small", *out, data_dir=data_dir).returncode == 2  # the folder is not empty now
    refused = typed("export", "small", "--what", "jobs", *out[2:], data_dir=data_dir)
    assert refused.returncode == 2
    assert "give --what memories --out FOLDER" in refused.stderr


@pytest.mark.parametrize(
    ("form", "owner"), [("ai-town", "agent:nora"), ("letta", "agent:sam"), ("concordia", "agent:alice")]
)
def test_imported_agents_of_other_programs_reflect_within_a_few_ticks(
    form: str, owner: str, data_dir: Path, tmp_path: Path
) -> None:
    made = done("import", write_each(tmp_path)[form], "--run", form, "--strict", data_dir=data_dir)
    assert (made["format"], made["repaired"]) == (form, {})
    assert made["left_out"]
    before = exported(form, data_dir)[owner]
    went_on = ("run", "--run", form, "--resume", "--ticks", 30, "--workers", 0, "--wait", 0)
    done(*went_on, data_dir=data_dir)
    since = [row for row in exported(form, data_dir)[owner] if row not in before]
    assert "reflection" in {row[3] for row in since}
    assert typed("audit", form, data_dir=data_dir).returncode == 0
    assert typed("replay", form, "--verify", data_dir=data_dir).returncode == 0


def test_an_import_replaces_a_run_only_on_request(data_dir: Path) -> None:
    file = data_dir.parent / "one.jsonl"
    file.write_text(json.dumps(LINES[0]))
    done("import", file, "--run", "one", data_dir=data_dir)
    refused = typed("import", file, "--run", "one", data_dir=data_dir)
    assert refused.returncode == 2
    assert "replace it (--replace)" in refused.stderr
    file.write_text("\n".join(map(json.dumps, LINES)))
    assert done("import", file, "--run", "one", "--replace", data_dir=data_dir)["memories"] == len(LINES)


KILLED = """
import os, signal, sys
from pathlib import Path
from cogitate.ops.exchange.command import import_run
from cogitate.ops.exchange.jsonl import read_jsonl
from cogitate.scheduler.config.settings import Settings

found = read_jsonl(Path(sys.argv[1]))
found.effects = lambda: os.kill(os.getpid(), signal.SIGKILL)  # the run exists, but its only tick is not committed
import_run(found, "killed", Settings(data_dir=Path(sys.argv[2])), form="jsonl")
"""


def test_an_import_replaces_the_empty_run_of_a_killed_import(data_dir: Path) -> None:
    file = data_dir.parent / "killed.jsonl"
    file.write_text("\n".join(map(json.dumps, LINES)))
    ended = subprocess.run([sys.executable, "-c", KILLED, file, data_dir], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert json.loads(typed("status", "killed", "--json", data_dir=data_dir).stdout.splitlines()[-1])["tick"] == 0
    again = typed("import", file, "--run", "killed", data_dir=data_dir)
    assert again.returncode == 0, again.stderr
    assert "run killed: an interrupted import has left it empty; creating it again" in again.stderr
    assert len(exported("killed", data_dir)[ADA]) == 3
    assert typed("audit", "killed", data_dir=data_dir).returncode == 0
    assert typed("import", file, "--run", "killed", data_dir=data_dir).returncode == 2  # this import is complete


def test_a_folder_of_tables_is_imported_as_an_ai_town(data_dir: Path, tmp_path: Path) -> None:
    made = done("import", convex_export(tmp_path / "town"), "--run", "folder", data_dir=data_dir)
    assert made["format"] == "ai-town"


def test_a_run_that_no_import_began_is_not_replaced(data_dir: Path) -> None:
    file = data_dir.parent / "mine.jsonl"
    file.write_text(json.dumps(LINES[0]))
    with TickLoop(run="mine", owners={}, settings=Settings(data_dir=data_dir, workers=0)):
        pass
    refused = typed("import", file, "--run", "mine", data_dir=data_dir)
    assert refused.returncode == 2
    assert "replace it (--replace)" in refused.stderr


def test_profiles_are_exported_and_imported_with_memories(data_dir: Path) -> None:
    ada = Profile(name="Ada Smith", age=34, occupation="smith", traits=("stubborn",))
    with (
        TickLoop(
            run="people", owners={ADA: ada}, settings=Settings(data_dir=data_dir, workers=0), log_warnings=False
        ) as loop,
        loop.next_tick() as tick,
    ):
        loop.observe(ADA, {"text": "The mill stopped.", "minute": tick.minute, "importance": 5})
    exported("people", data_dir)
    done("import", data_dir.parent / "people-exported.jsonl", "--run", "same-people", data_dir=data_dir)
    with TickLoop(
        run="same-people",
        owners={},
        settings=Settings(data_dir=data_dir, workers=0),
        exist="resume",
        log_warnings=False,
    ) as loop:
        assert loop.restored is not None
        assert json.loads(loop.restored)["owners"] == {ADA: json.loads(msgspec.json.encode(ada))}


def test_a_strict_import_refuses_a_file_with_faults(data_dir: Path) -> None:
    file = data_dir.parent / "faulty.jsonl"
    file.write_text(json.dumps(LINES[0]) + "\nnope\n")
    refused = typed("import", file, "--run", "faulty", "--strict", data_dir=data_dir)
    assert refused.returncode == 2
    assert "line 2: not valid JSON" in refused.stderr
    assert typed("status", "faulty", data_dir=data_dir).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("notes.txt", "--run", "r"), "give --format"),
        (("missing.jsonl", "--run", "r"), "cannot be read"),
        (("notes.jsonl", "--run", "r", "--sample", "a"), "--sample a names a conversation"),
        (("notes.jsonl", "--run", "no/name"), "no/name"),
    ],
)
def test_an_impossible_import_is_refused(arguments: tuple[str, ...], told: str, data_dir: Path) -> None:
    refused = typed("import", *arguments, data_dir=data_dir)
    assert refused.returncode == 2
    assert told in refused.stderr

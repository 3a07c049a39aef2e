"""A host's own kind of job, taken from docs/how-to/extending.md, run by real workers."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from cogitate import Change, Observation, Profile, Settings, TickLoop
from cogitate.errors import ConfigurationError
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.tasks.registry import kind_of
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed
from tests.live_flower import flower, get, until
from tests.repository import ROOT

EXTENDING = ROOT / "docs" / "how-to" / "extending.md"


NIGHT = 160  # ticks of ten minutes: until after 02:00 of the second day
OWNERS = {f"agent:{name.lower()}": Profile(name=name) for name in ("Ada", "Ben", "Cleo")}


@pytest.fixture
def dreams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Write the page's example to a module that this process can import, and return the module's name."""
    examples = re.findall(r"^```python\n(.*?)^```$", EXTENDING.read_text(), flags=re.MULTILINE | re.DOTALL)
    example = next(body for body in examples if "class Dream:" in body)
    assert len(example.splitlines()) <= 25
    (tmp_path / "dreams.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    yield "dreams"
    sys.modules.pop("dreams", None)


def live(settings: Settings, at_end: Callable[[list[Change]], None] = lambda dreamed: None) -> list[Change]:
    """Run a day and a night of three agents that observe something every two hours; return their dreams."""
    dreamed = []
    with TickLoop(run="night", owners=OWNERS, settings=settings, ticks=NIGHT, exist="replace") as loop:
        for tick in loop:
            dreamed += [change for change in tick.applied if change.kind == "dream" and change.entry]
            for owner in OWNERS if tick.minute % 120 == 0 else ():
                text = f"The heron stood in the mill pond at hour {tick.minute // 60}."
                loop.observe(owner, Observation(text=text, minute=tick.minute, importance=3))
        at_end(dreamed)  # while the workers are running
        assert audit(loop.ledger.client, "night") == []
    return dreamed


def test_workers_import_the_module_of_a_kind_that_their_host_has_imported(tmp_path: Path, dreams: str) -> None:
    importlib.import_module(dreams)
    dreamed = live(Settings(data_dir=tmp_path / "data", seconds_per_tick=600, workers=1))
    assert [(change.owner, change.source, change.reason) for change in dreamed] == [
        (owner, "heuristic", "none") for owner in OWNERS
    ]
    entries = [change.entry for change in dreamed if change.entry is not None]
    assert {(entry.minute, entry.tick) for entry in entries} == {
        (1560, 157)
    }  # 02:00 is minute 1560; the latency of five seconds is less than a tick


def test_a_kind_declared_in_a_module_is_limited_reported_and_shown_by_flower(
    tmp_path: Path, dreams: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    data_dir = tmp_path / "data"
    with (
        EmbeddedServer(data_dir) as server,
        FakeEndpoint() as endpoint,
        flower(data_dir, COGITATE_KINDS='["dreams"]', FLOWER_UNAUTHENTICATED_API="true") as address,
    ):
        settings = Settings.tuned(
            data_dir=data_dir,
            redis_url=SecretStr(server.url),
            kinds=(dreams,),
            workers=1,
            seconds_per_tick=600,
            llm="openai",
            base_url=endpoint.url,
            limit_tokens=1_000_000,
            limits={"day.kind:dream.calls": 3, "day.run.calls": 30},
            guarantees={"dream": 0.1},
            retry_share=0.34,
        )

        def flower_shows_them(dreamed: list[Change]) -> None:
            jobs = {f"night/156/dream/{change.owner}/0/0": "SUCCESS" for change in dreamed}
            until(lambda: shown(address) == jobs, f"Flower to show {[*jobs]}")

        dreamed = live(settings, flower_shows_them)
        assert [change.source for change in dreamed] == ["llm", "llm"]  # the third call is reserved for retries
        dream = dreamed[0].entry
        assert dream is not None
        assert (len(dream.evidence), dream.tags) == (3, ("dream",))
        with server.client() as client:
            ends = [job for job in JobHistory(client, "night").all() if job.kind == "dream"]
        assert sorted(job.decision for job in ends) == ["admitted", "admitted", "dropped"]
        budgets = json.loads(get(f"{address}/budgets/data?run=night")[1])
        assert "day.kind:dream.calls" in json.dumps(budgets)
        assert json.dumps(json.loads(get(f"{address}/overview/data")[1])).count("night") >= 1


def shown(address: str) -> dict[str, str]:
    """Return the states of Flower's tasks of the kind, by job, without the loop's readiness checks."""
    tasks = json.loads(get(f"{address}/api/tasks?limit=1000")[1]).values()
    return {
        task["uuid"]: task["state"] for task in tasks if task["name"] == "dream" and "/readiness/" not in task["uuid"]
    }


def test_a_package_names_its_kinds_by_an_entry_point(
    tmp_path: Path, dreams: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "night_town-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: night-town\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[cogitate.kinds]\ndreams = dreams\n")
    load_kinds(Settings())
    assert kind_of("dream").on_denied == "drop"


def test_a_kind_declared_in_the_main_script_is_refused(tmp_path: Path, dreams: str) -> None:
    script = tmp_path / "host.py"
    script.write_text((tmp_path / "dreams.py").read_text() + SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "the script that runs declares a kind of job" in done.stderr


SCRIPT = """
from cogitate import Profile, Settings, TickLoop

TickLoop(run="x", owners={"agent:ada": Profile(name="Ada")}, settings=Settings(workers=1), ticks=3)
"""


def test_a_module_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, kinds=("no_such_module",))
    with pytest.raises(ConfigurationError, match="no_such_module"):
        TickLoop(run="x", owners={}, settings=settings, inline=True)


DREAMING = """
from cogitate.effects import Append, Entry
from cogitate.kinds import Kind, Request, register


class Dream(Kind):
    name, order, latency = "dream", 91, 2

    def due(self, moment):
        return [Request(kind=self.name, owner=moment.owner)]

    def wake(self, moment):
        return moment.tick + 1

    def heuristic(self, case):
        if case.job.key.tick % 3 == 0:
            raise ZeroDivisionError
        return (Append(case.job.key.owner, Entry(type="dream", text="I flew.", minute=case.job.minute)),)


register(Dream())
"""


def test_unreadable_effects_of_a_kind_do_not_poison_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dreaming.py").write_text(DREAMING)
    monkeypatch.syspath_prepend(tmp_path)
    data_dir = tmp_path / "data"
    settings = Settings(data_dir=data_dir, kinds=("dreaming",), workers=1)
    with TickLoop(run="night", owners={"agent:ada": Profile(name="Ada")}, settings=settings, ticks=12) as loop:
        assert [change for tick in loop for change in tick.applied] == []
    with TickLoop(run="night", owners={}, settings=settings, ticks=20, exist="resume") as loop:
        assert {tick.number for tick in loop if not tick.replayed} == {*range(13, 21)}
    commands: list[tuple[object, ...]] = [
        ("memory", "night", "agent:ada"),
        ("status", "night"),
        ("jobs", "night"),
        ("replay", "night", "--verify"),
        ("export", "night", "--what", "memories"),
        ("export", "night", "--what", "journal"),
        ("audit", "night"),
        ("report", "night", "--out", tmp_path / "night.html"),
    ]
    done = {command: typed(*command, data_dir=data_dir) for command in commands}
    assert {command: one.stderr for command, one in done.items() if one.returncode} == {}
    assert "job.effects_refused" in done["status", "night"].stdout
    with EmbeddedServer(data_dir) as server, server.client() as client:
        ends = [job for job in JobHistory(client, "night").all() if job.kind == "dream" and job.ended]
        assert {(job.reason, job.source, job.failure, job.effects) for job in ends} == {
            ("failed", "heuristic", "effects_refused", ())
        }
        assert {job.refusal.partition(" in ")[0].partition(" - ")[0] for job in ends} == {
            "kind 'dream': heuristic raised ZeroDivisionError",
            "kind 'dream': heuristic (dreaming.py, line 15): effect for 'agent:ada' (Append): "
            "Invalid enum value 'dream'",
        }
    sys.modules.pop("dreaming", None)

"""A host's own kind of job, the one that docs/how-to/extending.md shows, run by real workers."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogitate import ConfigurationError, Profile, Settings, TickLoop
from scheduler.inspection.audit.audit import audit
from scheduler.inspection.job_history import JobHistory
from tests.integration.command import typed
from tests.repository import ROOT
from workers.processes.embedded import EmbeddedServer

EXTENDING = ROOT / "docs" / "how-to" / "extending.md"


@pytest.fixture
def own_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module with the page's example, which this process can import."""
    examples = re.findall(r"^```python\n(.*?)^```$", EXTENDING.read_text(), flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "humming.py").write_text(next(body for body in examples if "register(Hum())" in body))
    monkeypatch.syspath_prepend(tmp_path)
    yield "humming"
    sys.modules.pop("humming", None)


def test_workers_know_the_kinds_that_the_settings_name(tmp_path: Path, own_kind: str, without_own_kinds: None) -> None:
    settings = Settings(data_dir=tmp_path / "data", kinds=(own_kind,), workers=1)
    owners = {"agent:ada": Profile(name="Ada")}
    with TickLoop(run="humming", owners=owners, settings=settings, ticks=130) as loop:
        heard = [change for tick in loop for change in tick.applied if change.kind == "hum"]
        assert [(change.source, change.reason) for change in heard] == [("heuristic", "none")] * 2
        assert audit(loop.ledger.client, "humming") == []


def test_a_module_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, kinds=("no_such_module",))
    with pytest.raises(ConfigurationError, match="no_such_module"):
        TickLoop(run="x", owners={}, settings=settings, inline=True)


DREAMING = """
from cogitate import Append, Entry, Request, register


class Dream:
    name, order, latency, on_denied, prompt_cap, output_cap = "dream", 91, 2, "heuristic", 0, 0

    def due(self, moment):
        return [Request(kind=self.name, owner=moment.owner)]

    def wake(self, moment):
        return moment.tick + 1

    def prompt(self, case, memory_share=1.0):
        raise LookupError("this kind asks no model")

    def effects(self, case, answer, used):
        raise LookupError("this kind asks no model")

    def heuristic(self, case):
        if case.job.key.tick % 3 == 0:
            raise ZeroDivisionError
        return (Append(case.job.key.owner, Entry(type="dream", text="I flew.", minute=case.job.minute)),)


register(Dream())
"""


def test_a_kind_that_makes_what_nobody_can_read_poisons_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_own_kinds: None
) -> None:
    (tmp_path / "dreaming.py").write_text(DREAMING)
    monkeypatch.syspath_prepend(tmp_path)
    data_dir = tmp_path / "data"
    settings = Settings(data_dir=data_dir, kinds=("dreaming",), workers=1)
    with TickLoop(run="night", owners={"agent:ada": Profile(name="Ada")}, settings=settings, ticks=12) as loop:
        assert [change for tick in loop for change in tick.applied] == []
    with TickLoop(run="night", owners={}, settings=settings, ticks=20, resume=True) as loop:
        assert {tick.number for tick in loop if not tick.replayed} == {*range(13, 21)}
    commands: list[tuple[object, ...]] = [
        ("memory", "night", "agent:ada"), ("status", "night"), ("jobs", "night"), ("replay", "night", "--verify"),
        ("export", "night", "--what", "memories"), ("export", "night", "--what", "journal"), ("audit", "night"),
        ("report", "night", "--out", tmp_path / "night.html"),
    ]  # fmt: skip
    done = {command: typed(*command, data_dir=data_dir) for command in commands}
    assert {command: one.stderr for command, one in done.items() if one.returncode} == {}
    assert "job.effects_refused" in done["status", "night"].stdout
    with EmbeddedServer(data_dir) as server, server.client() as client:
        ends = [job for job in JobHistory(client, "night").all() if job.kind == "dream" and job.ended]
        assert {(job.reason, job.source, job.failure, job.effects) for job in ends} == {
            ("failed", "heuristic", "effects_refused", ())
        }
        assert {job.refusal.partition(" in ")[0].partition(" - ")[0] for job in ends} == {
            "heuristic raised ZeroDivisionError",
            "heuristic: effect for 'agent:ada' (Append): Invalid enum value 'dream'",
        }
    sys.modules.pop("dreaming", None)

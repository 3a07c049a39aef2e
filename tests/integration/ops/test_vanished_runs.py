"""A run whose keys vanish while a command reads it, as when a server without persistence restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogitate import Settings, TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed

OWNER = "agent:ada"
GONE = "x" * 16  # the incarnation of a run without keys
READS = (
    "runs",
    "status r",
    f"memory r {OWNER}",
    f"plan r {OWNER}",
    "jobs r",
    "job r/1/plan/agent:ada/0/0",
    "report r",
    "export r --what memories",
    "export r --what jobs",
    "export r --what journal",
    "budget r",
    "throttle r",
    "audit r",
    "replay r --verify",
    "status r --watch",
)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with a short run."""
    folder = tmp_path_factory.mktemp("vanished") / "data"
    with EmbeddedServer(folder) as server, server.client() as client:
        owners, settings = {OWNER: Profile(name="Ada Smith")}, Settings(data_dir=folder)
        with TickLoop(run="r", owners=owners, settings=settings, ticks=3, inline=True, client=client) as loop:
            for _ in loop:
                pass
    return folder


@pytest.mark.parametrize("command", READS)
def test_a_run_that_vanishes_before_it_is_opened_is_reported_as_deleted(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("cogitate.scheduler.ledger.run_store.incarnation_of", lambda client, run: GONE)
    done = typed(*command.split(), data_dir=data_dir)
    assert "deleted meanwhile" in done.stderr + done.stdout
    assert "bug in cogitate" not in done.stderr


@pytest.mark.parametrize("command", READS)
def test_a_run_that_vanishes_after_it_is_opened_causes_no_internal_error(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(RunStore, "open", lambda client, run: RunStore.of(client, run, GONE))
    done = typed(*command.split(), data_dir=data_dir)
    assert "bug in cogitate" not in done.stderr
    assert done.returncode in (0, 2)

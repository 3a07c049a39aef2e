"""`cogitate status --watch`: a line per change, until the run ends or Ctrl-C."""

from __future__ import annotations

import io
import signal
import subprocess
import time
from pathlib import Path

import msgspec
import pytest
from redis import Redis
from rich.console import Console

from cogitate.ops.commands import runs as status
from cogitate.scheduler.ledger.presence import this_process
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import command, typed
from tests.integration.scheduler.ledger.ledger_case import OWNER, Host
from tests.patience import LONGEST


@pytest.fixture
def small(client: Redis) -> Host:
    """Return a run that the test drives."""
    host = Host(client, run="small")
    assert host.ledger.present(msgspec.json.encode(this_process()), 3600.0)
    return host


def _watching(valkey: EmbeddedServer) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("status", "small", "--watch", data_dir=valkey.data_dir),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_watch_prints_a_line_per_change_and_ends_with_the_run(
    valkey: EmbeddedServer, client: Redis, small: Host
) -> None:
    watching = _watching(valkey)
    assert watching.stdout is not None
    assert "small  running  tick 0" in watching.stdout.readline()
    small.turn(("think", OWNER))
    assert "small  running  tick 1" in watching.stdout.readline()
    client.delete(small.ledger.store.key("host"))
    assert "small  running, no host  tick 1" in watching.stdout.readline()
    small.ledger.finish("finished")
    out, err = watching.communicate(timeout=LONGEST)
    assert (watching.returncode, err) == (0, "")
    assert out.splitlines()[0].startswith("small  finished  tick 1")
    assert "Run small: finished at tick 1" in out


def test_ctrl_c_ends_watching(valkey: EmbeddedServer, small: Host) -> None:
    watching = _watching(valkey)
    assert watching.stdout is not None
    watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=LONGEST)
    assert (watching.returncode, err) == (130, "")


def test_watch_redraws_a_terminal(client: Redis, small: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def go_on(_: float) -> None:
        if small.loop.tick == 0:
            small.turn(("think", OWNER))
        else:
            small.ledger.finish("stopped")

    monkeypatch.setattr(time, "sleep", go_on)
    screen = io.StringIO()
    summary = status.watch_run(client, "small", Console(file=screen, force_terminal=True, width=120))
    assert (summary.status, summary.tick) == ("stopped", 1)
    assert "small  running  tick 1" in screen.getvalue()


def test_watching_requires_the_name_of_a_run(tmp_path: Path) -> None:
    done = typed("status", "--watch", data_dir=tmp_path / "data")
    assert done.returncode == 2
    assert "cogitate status RUN --watch" in done.stderr

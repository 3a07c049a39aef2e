"""An experiment whose folder another process has locked: it waits for a while, and Ctrl-C ends the wait."""

from __future__ import annotations

import fcntl
import math
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cogitate.ops.experiment import runner
from cogitate.ops.experiment.runner import ExperimentFolder, FolderHeld
from tests.integration.ops.experiment.experiment_case import started, write_case
from tests.patience import LONGEST


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """Yield the file of an experiment whose folder is locked."""
    file = write_case(tmp_path / "case", limit="limit_tokens = 1_000", replicates=1, weathers='["sun"]')
    folder = file.with_suffix("")
    folder.mkdir()
    with (folder / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield file


def test_a_request_to_stop_ends_the_wait(held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE", math.inf)
    asked = iter([False, False, True])
    folder = ExperimentFolder(held.with_suffix(""))
    with pytest.raises(FolderHeld, match="another process runs the experiment in"), folder.held(lambda: next(asked)):
        pass
    assert next(asked, None) is None


def test_ctrl_c_ends_the_wait(held: Path, eventually: Callable[..., None]) -> None:
    sweep = started(held, "http://127.0.0.1:9/v1")
    fds = Path(f"/proc/{sweep.pid}/fd")

    def waits() -> bool:
        assert sweep.poll() is None
        return any(fd.resolve().name == "lock" for fd in fds.iterdir())

    eventually(waits, "the sweep to wait for its folder")
    sweep.send_signal(signal.SIGINT)
    _, err = sweep.communicate(timeout=LONGEST)
    assert "stopped while another process ran the experiment; run the same command to continue" in err
    assert sweep.returncode == 130

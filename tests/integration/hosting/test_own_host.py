"""A user's own host in a separate process, and what it leaves behind when it is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.integration.command import left_behind, summary
from tests.patience import LONGEST
from tests.process_environment import clean_environment

HOST = """
import sys
from pathlib import Path
from cogitate import Profile, Settings, TickLoop

settings = Settings(data_dir=Path(sys.argv[1]), workers=1)
with TickLoop(run="mine", owners={"agent:ada": Profile(name="Ada Smith")}, settings=settings, ticks=100) as loop:
    for tick in loop:
        if tick.number == 4:
            print("in the body of tick 4", flush=True)
            sys.stdin.read()
"""


def test_ctrl_c_marks_the_run_as_stopped(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    (tmp_path / "host.py").write_text(HOST)
    host = subprocess.Popen(
        [sys.executable, "host.py", str(data_dir)],
        cwd=tmp_path,
        env=clean_environment(),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert host.stdout is not None
        assert host.stdout.readline() == "in the body of tick 4\n"
        host.send_signal(signal.SIGINT)
        _, said = host.communicate(timeout=LONGEST)
    finally:
        host.kill()
        host.wait()
    assert host.returncode == -signal.SIGINT, said
    assert said.splitlines()[-1] == "KeyboardInterrupt"
    assert not (data_dir / "server.json").exists()
    assert not left_behind(data_dir)
    status = summary("status", "mine", data_dir=data_dir)
    assert (status["status"], status["tick"]) == ("stopped", 3)

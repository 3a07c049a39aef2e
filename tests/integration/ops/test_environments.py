"""Commands work in users' unusual environments, or report the fault of the environment in one line."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes.embedded import MAX_SOCKET_PATH, EmbeddedServer
from tests.patience import LONGEST
from tests.process_environment import clean_environment
from tests.repository import ROOT

PACKAGES = ("memory", "prompts", "tasks", "scheduler", "workers", "hosting", "simulation", "ops", "cogitate")
ASCII = {"PYTHONIOENCODING": "ascii"}
PLAIN_C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def run(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which $C is the command."""
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=LONGEST,
        env=clean_environment() | {"C": f"{sys.executable} -m cogitate.ops", "PYTHONPATH": str(ROOT)} | environment,
        check=False,
    )


@pytest.mark.parametrize(
    ("script", "environment"),
    [
        ("$C run --help", ASCII),
        ("$C run --help", {"PYTHONIOENCODING": "latin-1"}),
        ("$C config", ASCII | PLAIN_C),
        ("$C --help", {"COLUMNS": "9" * 30}),
        ("$C config", {"COLUMNS": "0", "LINES": "-1", "TERM": "dumb"}),
        ("$C config", {"TZ": "Mars/Olympus:::99", "HOME": "", "TMPDIR": "/nonexistent"}),
        ("unset HOME USER LANG; $C config", {}),
        ("$C config >&- 2>&- <&-", {}),
        ("$C --version <&- 2>&-", {}),
        ("mkdir gone; cd gone; rmdir ../gone; $C config", {}),
        ("ulimit -n 16; $C config", {}),
        ("$C config --json | head -c 1", {}),
        ("set -o pipefail; $C --version | cat", {}),
    ],
)
def test_a_command_works_in_an_unusual_environment(script: str, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "cogitate.toml").write_text('[model]\nmodel = "modèle"\n[workers]\nworkers = 1\n', encoding="utf-8")
    done = run(script, tmp_path, **environment)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("$C config > /dev/full", "No space left on device"),
        ("$C --help > /dev/full", "No space left on device"),
        ("touch f; $C run --data-dir f", "cannot make the data folder"),
        ("mkdir d; $C status $'\\xff' --data-dir d", "is not UTF-8"),
        ("mkdir gone; cd gone; rmdir ../gone; $C run --ticks 1", "the current folder no longer exists"),
        ("printf '\\xff\\xfew\\0' > cogitate.toml; $C config", "is not UTF-8"),
        ("$C $'\\e[2J'", r"\x1b[2J"),
        ("$C run --data-dir /proc/none", "cannot make the data folder"),
    ],
)
def test_an_unusable_environment_is_reported_in_one_line(script: str, says: str, tmp_path: Path) -> None:
    done = run(script, tmp_path)
    assert done.returncode in (1, 2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("cogitate: ")
    assert line.isprintable()
    assert says in line
    assert "bug in cogitate" not in line


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    done = run("$C config 2> said | true; cat said >&2", tmp_path)
    assert done.stderr == ""


def test_a_file_of_settings_may_begin_with_a_byte_order_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cogitate.toml").write_bytes(b"\xef\xbb\xbf[workers]\r\nworkers = 3\r\n")
    assert Settings().workers == 3


def test_a_socket_has_a_short_path_under_long_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("d" * 90) / ("t" * 90)
    long.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(long))
    monkeypatch.setattr("tempfile.tempdir", None)
    server = EmbeddedServer(long / "data")
    assert len(os.fsencode(server.socket)) <= MAX_SOCKET_PATH
    assert server.socket == EmbeddedServer(long / "data").socket, "a later host finds it"


def test_no_file_is_read_or_written_in_the_encoding_of_the_locale() -> None:
    """Check that every call names its encoding, so that files are UTF-8 under any locale."""
    unnamed = []
    for file in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                named = {keyword.arg for keyword in call.keywords}
                if call.func.attr in ("read_text", "write_text") and "encoding" not in named:
                    unnamed.append(f"{file.relative_to(ROOT)}:{call.lineno}")
    assert unnamed == []

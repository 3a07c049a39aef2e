"""The command line as a user types it, in a separate process or in this one, and the state of its run."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import RedisError

from cogitate.ops.cli import main
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.patience import LONGEST
from tests.process_environment import clean_environment

OURS = ("COGITATE_", "OPENAI_")


def cogitate(*arguments: object, data_dir: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `cogitate …` in a process to its end, without the caller's COGITATE_* variables."""
    return subprocess.run(
        command(*arguments, data_dir=data_dir),
        env=clean_environment(**environment),
        cwd=data_dir.parent,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )


def command(*arguments: object, data_dir: Path) -> list[str]:
    """Return the command's words, for tests that must watch or kill its process."""
    return [sys.executable, "-m", "cogitate.ops", *(str(part) for part in arguments), "--data-dir", str(data_dir)]


def typed(
    *arguments: object, data_dir: Path | None, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `cogitate …` in this process, which saves the imports, and return its exit code and output.

        Args:
            data_dir: the data folder; None if the command has no such option.
    cwd: the working directory; by default the parent of the data folder.
    """
    out, err = io.BytesIO(), io.BytesIO()
    streams = [io.TextIOWrapper(raw, encoding="utf-8", write_through=True) for raw in (out, err)]
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(OURS)]:
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        folder = [] if data_dir is None else ["--data-dir", str(data_dir)]
        patch.setattr(sys, "argv", ["cogitate", *map(str, arguments), *folder])
        patch.chdir(cwd or (data_dir or Path()).parent)
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        with pytest.raises(SystemExit) as left:
            main()
    printed = [raw.getvalue().decode() for raw in (out, err)]
    assert isinstance(left.value.code, int)
    return subprocess.CompletedProcess(list(map(str, arguments)), left.value.code, *printed)


def tick_of(data_dir: Path, run: str) -> int:
    """Return the last committed tick of a run, or 0 before the first or while no server runs."""
    with EmbeddedServer(data_dir).client() as client:
        try:
            return int(client.hget(RunStore.open(client, run).key("state"), "tick") or 0)
        except (RedisError, RunMissing):
            return 0


def summary(*arguments: object, data_dir: Path, **environment: str) -> dict[str, Any]:
    """Run `cogitate … --json` in this process, check that it succeeds, and return the JSON object that it prints."""
    return _last_object(typed(*arguments, "--json", data_dir=data_dir, **environment))


def summary_of_process(*arguments: object, data_dir: Path, **environment: str) -> dict[str, Any]:
    """Do as `summary`, but in a separate process, which a hash seed requires."""
    return _last_object(cogitate(*arguments, "--json", data_dir=data_dir, **environment))


def _last_object(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr[-3000:]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def left_behind(data_dir: Path) -> list[str]:
    """Return the command lines of other processes that name a data folder or have it as working directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                here = str((entry / "cwd").readlink())
            except OSError:
                continue
            if words and (str(data_dir) in words or here == str(data_dir)):
                found.append(words)
    return found

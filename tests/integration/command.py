"""The command line as a user types it, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def cogitate(*arguments: object, data_dir: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `cogitate …` to its end; COGITATE_* variables of the caller are left out."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COGITATE_", "OPENAI_"))}
    return subprocess.run(
        command(*arguments, data_dir=data_dir),
        env={**clean, **environment},
        cwd=data_dir.parent,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def command(*arguments: object, data_dir: Path) -> list[str]:
    """The command itself, for tests that must watch or kill it."""
    return [sys.executable, "-m", "ops", *(str(part) for part in arguments), "--data-dir", str(data_dir)]


def summary(*arguments: object, data_dir: Path, **environment: str) -> dict[str, Any]:
    """The JSON object that a successful `cogitate … --json` ends with."""
    done = cogitate(*arguments, "--json", data_dir=data_dir, **environment)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr[-3000:]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found

"""A check that the demo has the same digest on every Python, each in a fresh environment with the pinned packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

ROOT = Path(__file__).parents[1]
DEMO = ("run", "--town", "25", "--days", "1", "--json")


def version_of(python: str) -> str | None:
    """Return the version of the Python that a command starts, or None if it starts none."""
    try:
        asked = subprocess.run(
            [python, "-c", "import platform; print(platform.python_version())"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return asked.stdout.strip() if asked.returncode == 0 else None


def digest_of(cogitate: Path, folder: Path) -> str:
    """Return the digest of the demo, run by this `cogitate` in `folder` without the caller's settings.

    Raises:
        SystemExit: if the demo fails; the message has its output.
    """
    folder.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COGITATE_")}
    done = subprocess.run([cogitate, *DEMO], cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{done.stderr}\n{cogitate} {' '.join(DEMO)} failed with exit code {done.returncode}")
    digest: str = json.loads(done.stdout)["digest"]
    return digest


def installed(python: str, folder: Path) -> Path:
    """Install the package, pinned, in a new environment of this Python in `folder`; return its `cogitate`.

    With `uv` beside this Python, as in continuous integration, that takes a tenth of pip's CPU. If uv does not find a
    package, pip installs all.

    Raises:
        subprocess.CalledProcessError: if the installation fails.
    """
    uv, bin_folder = Path(sys.executable).parent / "uv", folder / "bin"
    pinned = ("-e", ROOT, "-c", ROOT / "constraints.txt")
    if uv.exists():
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
        by_uv: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", bin_folder / "python", *pinned]
        if subprocess.run(by_uv, check=False).returncode == 0:
            return bin_folder / "cogitate"
    subprocess.run([python, "-m", "venv", folder], check=True)
    subprocess.run([bin_folder / "pip", "install", "--quiet", "--no-compile", *pinned], check=True)
    return bin_folder / "cogitate"


def report(pythons: Annotated[Sequence[str], "commands that start another Python"]) -> int:
    """Run the demo on this Python and on others, print each digest, and return an exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = digest_of(Path(sys.executable).parent / "cogitate", folder / "ours")
        print(f"{ours}  Python {version_of(sys.executable)}", flush=True)
        others = []
        for number, python in enumerate(pythons):
            version = version_of(python)
            if version is None:
                print(f"{'not run':32}  {python} does not start a Python", flush=True)
                continue
            others.append(digest_of(installed(python, folder / f"venv-{number}"), folder / f"data-{number}"))
            print(f"{others[-1]}  Python {version}", flush=True)
    if all(other == ours for other in others):
        return 0
    print("the digests differ")
    return 1

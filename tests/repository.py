"""The root of this repository, and the parts of it that a project made by a test needs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SHARED = (
    "__init__.py",
    "conftest.py",
    "forked_python.py",
    "live_redis.py",
    "named_tests.py",
    "patience.py",
    "system_programs.py",
)


def copy_shared(project: Path) -> Path:
    """Copy the shared test modules into a project's folder `tests`, and return that folder."""
    folder = project / "tests"
    folder.mkdir(exist_ok=True)
    for name in _SHARED:
        shutil.copy(ROOT / "tests" / name, folder)
    return folder


def run_pytest(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest over a project made with `copy_shared`, without the other plugins installed on this machine."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("COGITATE_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", *arguments],
        cwd=project,
        env={**clean, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )

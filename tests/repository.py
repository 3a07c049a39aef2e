"""Where the repository lies whose tests these are, and what a project made by a test needs of it."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SHARED = ("__init__.py", "conftest.py", "named_tests.py", "system_programs.py")


def copy_shared(project: Path) -> Path:
    """Copy what all tests share into the folder `tests` of a project; return that folder."""
    folder = project / "tests"
    folder.mkdir(exist_ok=True)
    for name in _SHARED:
        shutil.copy(ROOT / "tests" / name, folder)
    return folder

"""To tests that are not marked, a machine with recorded runs and programs of the system looks like one without."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.repository import copy_shared, run_pytest
from tests.system_programs import SYSTEM_PROGRAMS, path_without_system_programs

TESTS = """
import os
import shutil
import subprocess

import pytest

RECORDINGS = os.environ.get("COGITATE_RECORDINGS")

def test_sees_neither():
    assert "COGITATE_RECORDINGS" not in os.environ
    assert shutil.which("prometheus") is None
    with pytest.raises(OSError):  # a folder of PATH may be closed to this user
        subprocess.run(["prometheus"])

def test_sees_other_programs():
    assert subprocess.run(["compiler"], capture_output=True, text=True).stdout == "compiled\\n"

@pytest.mark.system
def test_sees_programs():
    assert subprocess.run(["prometheus"], capture_output=True, text=True).stdout == "scraped\\n"

def test_sees_recordings(recordings):
    assert os.environ["COGITATE_RECORDINGS"] == str(recordings)

def test_saw_neither_when_it_was_imported():
    assert RECORDINGS is None
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder of programs, one of which only marked tests may see."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, says in {"prometheus": "scraped", "compiler": "compiled"}.items():
        (folder / name).write_text(f"#!/bin/sh\necho {says}\n")
        (folder / name).chmod(0o700)
    return folder


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        ((), "5 passed"),
        (("--numprocesses", "2"), "5 passed"),
        (("-m", "system or recordings"), "2 passed, 3 deselected"),
    ],
)
def test_only_marked_tests_see_the_machines_programs(
    arguments: tuple[str, ...], outcome: str, programs: Path, tmp_path: Path
) -> None:
    (copy_shared(tmp_path) / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  system\n  recordings\n")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = run_pytest(tmp_path, "tests/test_it.py", *arguments, PATH=path, COGITATE_RECORDINGS=str(tmp_path))
    assert outcome in done.stdout, done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "text", "code"),
    [
        (("-m", "recordings"), "assert False, 'imported'", pytest.ExitCode.OK),
        (("-m", "not recordings"), "assert False, 'imported'", pytest.ExitCode.INTERRUPTED),
        ((), "from tests.test_it import *", pytest.ExitCode.USAGE_ERROR),
    ],
)
def test_a_file_that_names_no_selected_mark_is_not_imported(
    arguments: tuple[str, ...], text: str, code: pytest.ExitCode, tmp_path: Path
) -> None:
    folder = copy_shared(tmp_path)
    (folder / "test_it.py").write_text("def test_it(recordings): pass")
    (folder / "test_other.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  system\n  recordings\n")
    done = run_pytest(tmp_path, "tests", *arguments)
    assert done.returncode == code, done.stdout + done.stderr


def test_folders_without_such_programs_stay_in_the_path(programs: Path, tmp_path: Path) -> None:
    other, missing = tmp_path / "other", tmp_path / "missing"
    other.mkdir()
    path = os.pathsep.join(map(str, (other, programs, missing)))
    bare = path_without_system_programs(path, tmp_path / "bare").split(os.pathsep)
    assert (bare[0], bare[2]) == (str(other), str(missing))
    assert [file.name for file in Path(bare[1]).iterdir()] == ["compiler"]


def test_this_test_sees_none() -> None:
    assert [name for name in SYSTEM_PROGRAMS if shutil.which(name)] == []

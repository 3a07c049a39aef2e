"""A session that ran everything fails where a test that a document names was not seen to pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repository import copy_shared, run_pytest

TESTS = """
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_passes(number):
    pass

def test_skips():
    pytest.skip("no server here")

@pytest.mark.xfail
def test_is_known_to_fail():
    assert False

class TestSkips:
    def test_within(self):
        pytest.skip("no server here")

class TestNotCollected:
    def __init__(self):
        pass

    def test_within(self):
        pass
"""

ALL_SKIPPED = """
import pytest

@pytest.fixture
def server():
    pytest.skip("no server here")

def test_has_no_server(server):
    pass

class TestWithin:
    @pytest.mark.skipif(True, reason="no server here")
    def test_has_none_either(self):
        pass
"""

SKIPPED_AND_FAILING = """
import pytest

def test_skips():
    pytest.skip("no server here")

@pytest.mark.xfail
def test_is_known_to_fail():
    assert False
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with documents and tests, and ours that watch them."""
    copy_shared(tmp_path)
    (tmp_path / "docs").mkdir()
    for name, text in {"it": TESTS, "all_skipped": ALL_SKIPPED, "skipped_and_failing": SKIPPED_AND_FAILING}.items():
        (tmp_path / "tests" / f"test_{name}.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    return tmp_path


def session(project: Path, page: str, *arguments: str) -> tuple[int, str]:
    """The exit code and the output of pytest over a project with that page."""
    (project / "docs" / "page.md").write_text(page)
    done = run_pytest(project, *arguments)
    return done.returncode, done.stdout


@pytest.mark.parametrize("processes", [(), ("--numprocesses", "2")])
def test_tests_that_passed_and_files_and_classes_that_were_all_skipped_are_shown(
    project: Path, processes: tuple[str, ...]
) -> None:
    passed = ("test_it.py::test_passes", "test_it.py::test_skips", "test_it.py", "named_tests.py")
    names = (*passed, "test_all_skipped.py", "test_all_skipped.py::TestWithin", "test_it.py::TestSkips")
    code, out = session(project, "".join(f"| a row | `tests/{name}` |\n" for name in names), *processes)
    assert (code, "UNSHOWN" in out) == (0, False)


@pytest.mark.parametrize("processes", [(), ("--numprocesses", "2")])
def test_tests_that_were_not_seen_to_pass_fail_the_session(project: Path, processes: tuple[str, ...]) -> None:
    names = {
        "test_it.py::test_is_known_to_fail",
        "test_it.py::TestNotCollected::test_within",
        "test_gone.py",
        "test_it.py::TestNotCollected",
        "test_it.py::TestGone",
        "test_skipped_and_failing.py",
    }
    code, out = session(project, "".join(f"| a row | `tests/{name}` |\n" for name in names), *processes)
    assert code == 1
    assert all(f"UNSHOWN tests/{name}: a document names it" in out for name in names)


@pytest.mark.parametrize(
    "part",
    [("tests/test_it.py",), ("-k", "passes"), ("-m", "parametrize", "--numprocesses", "2")],
)
def test_a_partial_session_reports_nothing(project: Path, part: tuple[str, ...]) -> None:
    assert session(project, "tests/test_gone.py::test_gone", *part)[0] == 0

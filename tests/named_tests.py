"""The tests that documents name: find them in documents and files, and check that a whole session ran them.

A document names a test by its path from the project's root:
`tests/unit/memory/test_apply.py::test_effects_happen_once`, or a whole file or class. Another test checks that each
exists (tests/unit/repository/test_specs_page.py). This plugin fails a session of the whole suite if a named test was
not collected, or neither passed nor was skipped for a reason. A file or class counts as shown if one of its tests
passed or all of them were skipped.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

#: A test or a test file, as documents name it; other files in the same folders do not match.
NAME = re.compile(r"\btests/(?:\w+/)*test_\w+\.py(?:::\w+)*")


def pages(root: Path) -> list[Path]:
    """Return every document of the project."""
    top = [root / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [page for page in (*top, *sorted((root / "docs").rglob("*.md"))) if page.is_file()]


def named(root: Path) -> set[str]:
    """Return the tests and test files that the documents name."""
    return {name for page in pages(root) for name in NAME.findall(page.read_text())}


def defined(file: Path) -> set[str]:
    """Return the test functions of a file, and those of its classes as `TestClass::test_name`."""
    return set(_functions(ast.parse(file.read_text()), ""))


def _functions(within: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    for node in within.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield prefix + node.name
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _functions(node, f"{prefix}{node.name}::")


class NamedTests:
    """A plugin that records how each test ended, and fails a whole session that leaves a named test unshown."""

    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        # With xdist only the controller sees the reports of all tests.
        is_xdist_worker = hasattr(config, "workerinput")
        # Look at `-m` and `-k` here: with xdist only the workers deselect tests.
        chosen = config.option.markexpr or config.option.keyword
        everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen
        self._whole = everything and not is_xdist_worker
        self._passed: set[str] = set()
        self._skipped: set[str] = set()
        self._expected_failures: set[str] = set()
        self._unshown: list[str] = []

    def pytest_deselected(self) -> None:
        """Record that tests were deselected: the session is not whole."""
        self._whole = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a test, its classes and its file under the names that documents use, without parameters."""
        parts = report.nodeid.partition("[")[0].split("::")
        names = {"::".join(parts[:length]) for length in range(1, len(parts) + 1)}
        if report.when == "call" and report.passed:
            self._passed |= names
        elif report.skipped:
            (self._expected_failures if hasattr(report, "wasxfail") else self._skipped).update(names)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session for unshown tests if it ran the whole suite without another error."""
        if self._whole and session.exitstatus == pytest.ExitCode.OK:
            self._unshown = sorted(named(self._root) - self._passed - (self._skipped - self._expected_failures))
            if self._unshown:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List the tests that documents name and that did not pass."""
        for name in self._unshown:
            terminalreporter.write_line(f"UNSHOWN {name}: a document names it, but it neither passed nor was skipped")

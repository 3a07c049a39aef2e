"""Which tests reach which line: one run of the tests under coverage, kept until a file changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path

import coverage
import pytest

FOLDER = "COGITATE_REACHED"  # where a session's processes write what they saw


class Recorder:
    """A pytest plugin that notes which test runs which line, and how long it takes."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        self._seconds: dict[str, float] = defaultdict(float)
        self._coverage = coverage.Coverage(
            data_file=str(folder / "lines"),
            data_suffix=True,
            config_file=False,
            source=[str(root / name) for name in ("memory", "tasks", "scheduler", "workers", "ops", "prompts")],
            concurrency=["thread", "greenlet"],
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note what runs from here on as reached by this test."""
        self._coverage.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what each test takes, its fixtures included."""
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._seconds[report.nodeid] = float("inf")  # says nothing about mutants

    def pytest_sessionfinish(self) -> None:
        """Write what this process has seen."""
        self._coverage.stop()
        self._coverage.save()
        (self._folder / f"seconds-{os.getpid()}.json").write_text(json.dumps(self._seconds))


def pytest_configure(config: pytest.Config) -> None:
    """Record in every process that runs tests (with xdist: its workers)."""
    if "workerinput" in vars(config) or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Recorder(Path(os.environ[FOLDER]), config.rootpath))


def record(root: Path, folder: Path, tests: Sequence[str], processes: int) -> None:
    """Run the tests and keep in `folder` what each of them reached. Tests that fail are left out.

    Raises:
        RuntimeError: when no test could be run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "mutation.reached", "-p", "no:cacheprovider", "--timeout", "240",
        "--numprocesses", str(processes), "--dist", "worksteal", *tests,
    ]  # fmt: skip
    environment = {**os.environ, FOLDER: str(folder), "CI": "true"}
    code = subprocess.run(command, cwd=root, env=environment, check=False).returncode
    if code not in (0, 1) or not list(folder.glob("seconds-*.json")):
        raise RuntimeError(f"the tests could not be run: pytest ended with {code}")
    combined = coverage.Coverage(data_file=str(folder / "all"), config_file=False)
    combined.combine([str(path) for path in folder.glob("lines*")])
    combined.save()


class Reached:
    """What a recorded run of the tests reached."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._data = coverage.CoverageData(basename=str(folder / "all"))
        self._data.read()
        self._lines: dict[str, dict[int, list[str]]] = {}
        self.seconds: dict[str, float] = {}
        for path in folder.glob("seconds-*.json"):
            self.seconds |= json.loads(path.read_text())

    def tests(self, path: str, first: int, last: int) -> list[str]:
        """Return the tests that run one of these lines, the fastest first.

        What runs when the module is imported is reached by all tests that reach the module.
        """
        if path not in self._lines:
            self._lines[path] = self._data.contexts_by_lineno(str((self._root / path).resolve()))
        lines = self._lines[path]
        found = {test for line in range(first, last + 1) for test in lines.get(line, ()) if test}
        at_import = any("" in lines.get(line, ()) for line in range(first, last + 1))
        if at_import and not found:
            found = {test for tests in lines.values() for test in tests if test}
        return sorted((t for t in found if self.seconds.get(t, 0) < 60), key=lambda t: (self.seconds.get(t, 0), t))

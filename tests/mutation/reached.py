"""Which tests reach which line: runs of the tests under coverage, kept for each file of tests until that file changes.

The source that was run is kept too. Where a module has changed since, its lines are matched with those of then, and a
new line counts as reached by whatever reached its neighbours.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import coverage
import pytest
from redis.commands.core import Script

FOLDER = "COGITATE_REACHED"  # where a session's processes write what they saw
_AT_A_TIME = 20  # files of tests that are recorded together
_FAST = 1.0  # seconds: a test that takes longer is tried after all that do not
_GREENLETS = "tests/simulation/"  # whose tests run their actors in greenlets
PRODUCT = ("memory", "tasks", "scheduler", "workers", "ops", "prompts")


class Recorder:
    """A pytest plugin that notes which test runs which line or script, and how long it takes.

    Greenlets are followed only where tests have them: coverage keeps a table of them, and where threads end while it
    does, an entry of that table may be removed for ever.
    """

    def __init__(self, folder: Path, root: Path, *, greenlets: bool) -> None:
        self._folder = folder
        self._seconds: dict[str, float] = defaultdict(float)
        self._scripts: dict[str, set[str]] = defaultdict(set)  # text of a Lua script -> tests that call it
        self._running = ""
        self._coverage = coverage.Coverage(
            data_file=str(folder / "lines"),
            data_suffix=True,
            config_file=False,
            source=[str(root / name) for name in PRODUCT],
            concurrency=["thread", "greenlet"] if greenlets else ["thread"],
        )
        self._coverage.start()
        call: Callable[..., Any] = Script.__call__

        def noted(script: Script, *args: Any, **named: Any) -> Any:
            self._scripts[str(script.script)].add(self._running)
            return call(script, *args, **named)

        Script.__call__ = noted  # type: ignore[method-assign]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note what runs from here on as reached by this test."""
        self._running = item.nodeid
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
        scripts = [[text, sorted(tests)] for text, tests in self._scripts.items()]
        seen = {"seconds": self._seconds, "scripts": scripts}
        (self._folder / f"seen-{os.getpid()}.json").write_text(json.dumps(seen))


def pytest_configure(config: pytest.Config) -> None:
    """Record in every process that runs tests (with xdist: its workers)."""
    if "workerinput" in vars(config) or not config.getoption("numprocesses", None):
        greenlets = any(_GREENLETS in name for name in config.args)
        config.pluginmanager.register(Recorder(Path(os.environ[FOLDER]), config.rootpath, greenlets=greenlets))


def files_of(root: Path, tests: Sequence[str]) -> list[str]:
    """Return the files of tests in the named files and folders."""
    return [
        str(found.relative_to(root))
        for name in tests
        for found in (sorted((root / name).rglob("test_*.py")) if (root / name).is_dir() else [root / name])
    ]


def record(root: Path, folder: Path, tests: Sequence[str], processes: int, *, afresh: bool = False) -> None:
    """Run the files of tests that have changed since they were recorded, and keep what each of them reached.

    Some files at a time: what has been recorded is kept when the rest is interrupted. A test that fails is left out.

    Raises:
        RuntimeError: when no test could be run.
    """
    stale = [name for name in files_of(root, tests) if afresh or not _is_recorded(root, folder, name)]
    if not stale:
        return
    print(f"recording which test of {len(stale)} files reaches which line …", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    for some in (
        [name for name in stale if name.startswith(_GREENLETS)],
        [name for name in stale if not name.startswith(_GREENLETS)],
    ):
        for at in range(0, len(some), _AT_A_TIME):
            _record(root, folder, some[at : at + _AT_A_TIME], processes)


def _record(root: Path, folder: Path, stale: Sequence[str], processes: int) -> None:
    raw = Path(tempfile.mkdtemp(prefix="raw-", dir=folder))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.mutation.reached",
        "-p",
        "no:cacheprovider",
        "--timeout",
        "120",
        *(("--numprocesses", str(processes), "--dist", "worksteal") if processes > 1 else ()),
        *stale,
    ]
    sources = {name: _keep_source(folder, root / name) for name in _product(root)}
    environment = {**os.environ, FOLDER: str(raw), "CI": "true"}
    code = subprocess.run(command, cwd=root, env=environment, check=False, stdout=subprocess.DEVNULL).returncode
    if code not in (0, 1) or not list(raw.glob("seen-*.json")):
        raise RuntimeError(f"the tests could not be run: pytest ended with {code}")
    combined = coverage.Coverage(data_file=str(raw / "all"), config_file=False)
    combined.combine([str(path) for path in raw.glob("lines*")])
    combined.save()
    keep(root, folder, raw, stale, sources)
    shutil.rmtree(raw)


def keep(root: Path, folder: Path, raw: Path, stale: Iterable[str], sources: dict[str, str]) -> None:
    """Write what a run of tests has shown, a file for each file of tests."""
    data = coverage.CoverageData(basename=str(raw / "all"))
    data.read()
    seconds: dict[str, float] = {}
    scripts: dict[str, set[str]] = defaultdict(set)
    for path in raw.glob("seen-*.json"):
        seen = json.loads(path.read_text())
        seconds |= seen["seconds"]
        for text, tests in seen["scripts"]:
            scripts[text] |= set(tests)
    masks: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for measured in data.measured_files():
        name = str(Path(measured).relative_to(root))
        for line, tests in data.contexts_by_lineno(measured).items():
            for test in tests:
                if test:
                    masks[test.partition("::")[0]][name][test] |= 1 << line
    for text, called in scripts.items():
        for name in (name for name in sources if name.endswith(".lua")):
            if (root / name).read_text().strip() in text:
                for test in called:
                    masks[test.partition("::")[0]][name][test] = -1
    for name in stale:
        lines = {path: {test: hex(mask) for test, mask in of.items()} for path, of in masks[name].items()}
        record = {
            "test": _hash((root / name).read_text()),
            "sources": {path: sources[path] for path in lines if path in sources},
            "seconds": {test: value for test, value in seconds.items() if test.partition("::")[0] == name},
            "lines": lines,
        }
        _record_of(folder, name).write_text(json.dumps(record))


class Reached:
    """Read what recorded runs of the tests reached."""

    def __init__(self, root: Path, folder: Path, tests: Sequence[str]) -> None:
        self._root, self._folder = root, folder
        self._records = [
            json.loads(path.read_text())
            for name in files_of(root, tests)
            if (path := _record_of(folder, name)).exists()
        ]
        #: Files of tests that have changed since: what they import counts as reached by all of their tests.
        self._unrecorded = [
            name
            for name in files_of(root, tests)
            if not name.startswith("tests/simulation") and not _is_recorded(root, folder, name)
        ]
        self.unrecorded = frozenset(self._unrecorded)
        self._lines: dict[str, list[tuple[str, int]]] = {}
        self._now: dict[str, dict[int, list[int]]] = {}
        self._texts: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self._all_lines: dict[str, int] = defaultdict(int)
        for record in self._records:
            self.seconds |= record["seconds"]
            for of in record["lines"].values():
                for test, mask in of.items():
                    self._all_lines[test] += max(0, int(mask, 16)).bit_count()

    def tests(self, path: str, first: int, last: int, name: str = "") -> list[str]:
        """Return the tests that run one of these lines: first the fast ones, by how much of this module alone they run.

        What runs when the module is imported is reached by all tests that reach the module or whose file mentions it:
        the latter, and of these those that mention the name, come first. A Lua script is reached by all that call it.
        """
        if path not in self._lines:
            self._lines[path] = [
                (test, self._today(path, record["sources"][path], int(mask, 16)))
                for record in self._records
                for test, mask in record["lines"].get(path, {}).items()
                if path in record["sources"]
            ]
        wanted = ((1 << (last + 1)) - 1) ^ ((1 << first) - 1)
        found = {test for test, mask in self._lines[path] if mask & wanted}
        if not found and not self._is_in_function(path, first):
            module = path.removesuffix(".py").replace("/", ".")
            found = {test for test, _ in self._lines[path]}
            found |= {test for test in self.seconds if module in self._text(test.partition("::")[0])}
        else:
            module = name = ""

        callers = _NAMED_AFTER.get(path.partition("/")[0], ())
        own = {test: mask.bit_count() if mask > 0 else 1 for test, mask in self._lines[path]}

        def order(test: str) -> tuple[bool, int, bool, float, float, str]:
            file = test.partition("::")[0]
            text = self._text(file) if module else ""
            # What runs at import says nothing of a test: there the fastest come first.
            share = 0.0 if module else own.get(test, 0) / self._all_lines.get(test, 1)
            seconds = self.seconds.get(test, 0)
            stem = Path(file).stem  # a file of tests that is called as the module is, or as what calls the script
            named = Path(path).stem in stem or (path.endswith(".lua") and any(name in stem for name in callers))
            return not named, -(module in text) - bool(name and name in text), seconds > _FAST, -share, seconds, test

        recorded = sorted((test for test in found if self.seconds.get(test, 0) < 60), key=order)
        stem = Path(path).stem
        written_since = sorted(
            (file for file in self._unrecorded if _imports(self._text_with_cases(file), path)),
            key=lambda file: (stem not in Path(file).stem, "integration" in file, file),
        )
        return [*recorded, *written_since]

    def _text_with_cases(self, file: str) -> str:
        """Return the text of a file of tests with those of the modules that it shares with others."""
        text = self._text(file)
        found = re.findall(r"^from (tests\.[\w.]+_case) import", text, re.MULTILINE)
        shared = [f"{name.replace('.', '/')}.py" for name in found]
        return "".join([text, *map(self._text, shared)])

    def _text(self, file: str) -> str:
        if file not in self._texts:
            path = self._root / file
            self._texts[file] = path.read_text() if path.exists() else ""
        return self._texts[file]

    def _is_in_function(self, path: str, line: int) -> bool:
        import ast

        return path.endswith(".py") and any(
            isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line <= (node.end_lineno or 0)
            for node in ast.walk(ast.parse((self._root / path).read_text()))
        )

    def _today(self, path: str, source: str, mask: int) -> int:
        """Return the lines of a kept source as lines of the present one."""
        present = (self._root / path).read_text()
        if mask < 0 or source == _hash(present):
            return mask
        if source not in self._now:
            before = (self._folder / "sources" / source).read_text().splitlines()
            matcher = difflib.SequenceMatcher(None, before, present.splitlines(), autojunk=False)
            moved: dict[int, list[int]] = defaultdict(list)
            for _, from_first, from_last, to_first, to_last in matcher.get_opcodes():
                same = from_last - from_first == to_last - to_first
                neighbours = [from_first] if from_first == from_last else []  # new lines: as the one before them
                for line in neighbours or range(from_first + 1, from_last + 1):
                    as_now = [to_first + line - from_first] if same else range(to_first + 1, to_last + 1)
                    moved[line] += as_now
            self._now[source] = moved
        moved = self._now[source]
        return sum(1 << line for line in {now for was in _bits(mask) for now in moved.get(was, ())})


_CALLERS = {
    "scheduler": (
        "cogitate.scheduler.ledger.ledger",
        "cogitate.scheduler.ledger.real_day",
        "tests.integration.scheduler.ledger.ledger_case",
        "tests.integration.scheduler.ledger.script_case",
    ),
    "workers": (
        "cogitate.workers.gate.gate",
        "cogitate.workers.jobs.kept_texts",
        "cogitate.workers.transport.turns",
        "tests.integration.workers.gate_script_case",
    ),
}  # of scripts
_NAMED_AFTER = {"scheduler": ("ledger",), "workers": ("gate",)}  # what the files of tests of scripts are called


def _imports(text: str, path: str) -> bool:
    if path.endswith(".lua"):
        return any(f"from {caller}" in text for caller in _CALLERS[path.partition("/")[0]])
    module = path.removesuffix(".py").replace("/", ".")
    return f"from {module} import" in text or f"import {module}\n" in text


def _bits(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]


def _product(root: Path) -> list[str]:
    return [
        str(path.relative_to(root))
        for name in PRODUCT
        for path in sorted((root / name).rglob("*"))
        if path.suffix in (".py", ".lua")
    ]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _keep_source(folder: Path, path: Path) -> str:
    text = path.read_text()
    name = _hash(text)
    (folder / "sources").mkdir(parents=True, exist_ok=True)
    (folder / "sources" / name).write_text(text)
    return name


def _record_of(folder: Path, name: str) -> Path:
    return folder / (name.replace("/", "-").removesuffix(".py") + ".json")


def _is_recorded(root: Path, folder: Path, name: str) -> bool:
    path = _record_of(folder, name)
    return path.exists() and json.loads(path.read_text())["test"] == _hash((root / name).read_text())

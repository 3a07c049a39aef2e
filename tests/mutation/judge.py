"""Mutants on trial: the tests that reach one run against it in a process of their own, until one fails.

One session of pytest imports the product and collects the tests once; each trial is a fork of it that exchanges the
code of the changed function and runs the tests of that trial. A mutant of what runs at import has a session of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import _pytest.main
import hypothesis
import psutil
import pytest

from tests.mutation import hook
from tests.mutation.mutants import Mutant

Verdict = Literal["found", "survived", "unreached"]
Heard = Callable[[Mutant, Verdict, str], None]  # the last: what found it

HANGS = "(hangs)"
PATIENCE = 60.0  # seconds beyond the last test's begin, after which a mutant hangs: it is found
_SLOWER = 3  # times that tests may take longer than when they were recorded: others use the machine too
_COLLECTING = 0.3  # seconds that a session of its own takes to import a file of tests
PLAIN = ("-q", "-s", "--assert", "plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore")


def preload() -> None:
    """Import what tests need that is not the product, once for all trials."""
    for name in (
        "redis",
        "fakeredis",
        "pydantic",
        "pydantic_settings",
        "msgspec",
        "structlog",
        "celery",
        "kombu",
        "aiohttp",
        "jinja2",
        "typer",
        "rich",
        "snowballstemmer",
        "greenlet",
        "psutil",
    ):
        __import__(name)


class Trial(NamedTuple):
    """A mutant and the tests that it has to pass to survive."""

    mutant: Mutant
    tests: Sequence[str]  # the fastest first


class FirstExample:
    """A pytest plugin under which hypothesis stops at the first example that fails, and keeps none."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Load a profile for this session."""
        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile(
            "mutation",
            deadline=None,
            derandomize=True,
            database=None,
            phases=phases,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        hypothesis.settings.load_profile("mutation")


class Jury:
    """A pytest plugin that, in place of the tests, tries the mutants with them."""

    def __init__(
        self, root: Path, trials: Sequence[Trial], seconds: dict[str, float], most: float, heard: Heard
    ) -> None:
        """`most` is the time that the tests of one mutant may take."""
        self._root, self._trials, self._seconds, self._most, self._heard = root, trials, seconds, most, heard
        self._killers: dict[str, Counter[str]] = {}  # tests that found a mutant of a module
        self._sound: set[str] = set()  # tests that pass without any mutant
        self.fails: list[str] = []  # tests that do not

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant in a fork of this session.

        Raises:
            Session.Failed: when a file of tests cannot be imported: a fork would take that for its mutant's doing.
        """
        if session.testsfailed:
            raise session.Failed(f"{session.testsfailed} files of tests cannot be imported: no mutant was tried")
        items = {item.nodeid: item for item in session.items}
        files: dict[str, list[str]] = {}
        for test in items:
            files.setdefault(test.partition("::")[0], []).append(test)
        for trial in self._trials:
            mutant, scripted = trial.mutant, trial.mutant.path.endswith(".lua")
            changed = {} if scripted else hook.codes(self._root, mutant.path, mutant.index)
            assert changed is not None, mutant
            known = [
                test for name in self._in_order(trial) for test in ([name] if "::" in name else files.get(name, ()))
            ]
            tests = [test for test in dict.fromkeys(known) if test in items and test not in self.fails]
            if not tests:
                self._heard(mutant, "unreached", "")
                continue

            def plant(mutant: Mutant = mutant, scripted: bool = scripted, changed: hook.Changed = changed) -> None:
                os.environ[hook.VARIABLE] = f"{mutant.path}:{mutant.index}"
                if scripted or not hook.exchange(self._root, mutant.path, changed):
                    hook.install(self._root, mutant.path, mutant.index)

            found_by = self._run(session, [items[test] for test in tests], plant)
            if found_by is not None and found_by in items and not self._passes_alone(session, items[found_by]):
                self.fails.append(found_by)
                found_by = self._run(session, [items[test] for test in tests if test not in self.fails], plant)
            if found_by is not None:
                self._killers.setdefault(mutant.path, Counter())[found_by] += 1
            self._heard(mutant, "survived" if found_by is None else "found", found_by or "")
        return True

    def _in_order(self, trial: Trial) -> list[str]:
        """Return the tests that there is time for: those that found others of the module, then the fastest."""
        killers = self._killers.get(trial.mutant.path, Counter())
        reaching = set(trial.tests)
        first = [test for test, _ in killers.most_common(8) if test in reaching and self._seconds.get(test, 0) < 2]
        return _affordable((*first, *(test for test in trial.tests if test not in first)), self._seconds, self._most)

    def _passes_alone(self, session: pytest.Session, item: pytest.Item) -> bool:
        """Tell whether a test that failed passes without the mutant, asked once of each."""
        if item.nodeid not in self._sound and self._run(session, [item], lambda: None) is None:
            self._sound.add(item.nodeid)
        return item.nodeid in self._sound

    def _run(self, session: pytest.Session, items: list[pytest.Item], plant: Callable[[], None]) -> str | None:
        """Return the test that failed, or None."""
        own = Path(tempfile.mkdtemp(prefix="cogitate-mutant-"))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setpgid(0, 0)
                code = _try(session, items, plant, own, self._root, _SLOWER * self._most)
            finally:
                os._exit(code)
        longest = max(self._seconds.get(item.nodeid, 0) for item in items)
        try:
            if not _ended(child, time.monotonic() + _SLOWER * (self._most + longest) + PATIENCE):
                return HANGS
            said = own / "failed"
            return said.read_text() or "(ends the process)" if said.exists() else None
        finally:
            _clear(own)


def _affordable(tests: Iterable[str], seconds: Mapping[str, float], most: float, collecting: float = 0.0) -> list[str]:
    """Return the tests that fit into a time, in their order: one that does not fit leaves its room to shorter ones.

    Args:
        collecting: seconds that each file takes before its first test.
    """
    total, some, files = 0.0, list[str](), set[str]()
    for test in tests:
        file = test.partition("::")[0]
        takes = seconds.get(test, 0.0) + (0.0 if file in files else collecting)
        if total + takes <= most or not some or "::" not in test:  # a file of new tests has no time of its own yet
            total += takes
            files.add(file)
            some.append(test)
    return some


def _clear(own: Path) -> None:
    """End what tests have started in the folder of a trial and that left its group, and remove the folder."""
    for process in psutil.process_iter(["cmdline"]):
        if any(str(own) in part for part in process.info["cmdline"] or ()):
            with contextlib.suppress(psutil.Error):
                process.kill()
    shutil.rmtree(own, ignore_errors=True)


def _ended(child: int, deadline: float) -> bool:
    """Wait for a trial and end what its tests may have left: a mutant may not stop what it started."""
    ended = False
    while not ended and time.monotonic() < deadline:
        ended = os.waitpid(child, os.WNOHANG)[0] != 0
        if not ended:
            time.sleep(0.005)  # between two looks at a process that says nothing
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
    return ended


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _prepare(root: Path) -> None:
    """Have processes that tests start take the mutant that the environment names."""
    site = str(root / "tests" / "mutation" / "site")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (site, os.environ.get("PYTHONPATH"))))
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


class _FirstFailure:
    def __init__(self) -> None:
        self.test = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.test:
            self.test = report.nodeid


class _Limit:
    """A pytest plugin that begins no further test after so many seconds.

    Where the machine is busy with others, it waits until this process has had its part of the time, within bounds.
    """

    def __init__(self, seconds: float, session: pytest.Session | None = None) -> None:
        self._session = session
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._busy_until = time.process_time() + seconds / _SLOWER
        self.is_over = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Begin to count where all tests were collected only now."""
        self._session, self._until = session, time.monotonic() + self._seconds
        self._busy_until = time.process_time() + self._seconds / _SLOWER

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self) -> None:
        """Look at the clock between two tests."""
        late = time.monotonic() - self._until
        has_had_it = time.process_time() > self._busy_until or late > PATIENCE / 2
        if self._session is not None and late > 0 and has_had_it:
            self._session.shouldstop = "there is no time for more"
            self.is_over = True


def _try(
    session: pytest.Session,
    items: list[pytest.Item],
    plant: Callable[[], None],
    own: Path,
    root: Path,
    seconds: float,
) -> int:
    said = own / "failed"
    said.touch()
    _silence()
    _prepare(root)
    first = _FirstFailure()
    for plugin in (first, _Limit(seconds, session)):
        session.config.pluginmanager.register(plugin)
    session.config.option.basetemp = str(own / "tmp")
    session.config.option.maxfail = 1
    with contextlib.suppress(AttributeError):
        session.config._tmp_path_factory._given_basetemp = own / "tmp"  # type: ignore[attr-defined]
    plant()
    session.items = items
    with contextlib.suppress(session.Failed, session.Interrupted):
        _pytest.main.pytest_runtestloop(session)
    with contextlib.suppress(BaseException):
        session._setupstate.teardown_exact(None)
    if first.test:
        said.write_text(first.test)
        return 1
    if session.testsfailed == 0:
        said.unlink()
    return 0


def try_cold(root: Path, trial: Trial, most: float, seconds: dict[str, float]) -> str | None:
    """Try a mutant in a session of its own, before the product is imported; return the test that failed, or None."""
    tests = _affordable(trial.tests, seconds, most, _COLLECTING)
    total = max(most, sum(seconds.get(test, 0.0) for test in tests))
    own = Path(tempfile.mkdtemp(prefix="cogitate-mutant-"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setpgid(0, 0)
            _silence()
            _prepare(root)
            os.environ[hook.VARIABLE] = f"{trial.mutant.path}:{trial.mutant.index}"
            hook.install(root, trial.mutant.path, trial.mutant.index)
            first, limit = _FirstFailure(), _Limit(_SLOWER * total)
            options = [*PLAIN, "-x", f"--basetemp={own / 'tmp'}"]
            code = int(pytest.main([*options, *tests], plugins=[first, FirstExample(), limit]))
            if limit.is_over and not first.test:
                code = 0
            (own / "failed").write_text(json.dumps([code, first.test]))
        finally:
            os._exit(code)
    try:
        if not _ended(child, time.monotonic() + _SLOWER * total + PATIENCE):
            return HANGS
        said = own / "failed"
        code, test = json.loads(said.read_text()) if said.exists() else (1, "")
        return None if code == 0 else test or "(cannot be imported)"
    finally:
        _clear(own)

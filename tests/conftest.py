"""Fixtures and hooks for all tests: waiting, recorded runs, tests that must not skip, tests that documents name.

Only a test marked `system` or `recordings` sees system programs and recorded runs. All other tests run as on a machine
without them, so their results are the same on every machine.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import structlog

from tests import forked_python
from tests.live_redis import stop_server
from tests.named_tests import NamedTests
from tests.patience import wait_until
from tests.system_programs import path_without_system_programs

Eventually = Callable[..., None]
# No test asserts a duration. CI repeats the same examples in every run; elsewhere they vary, to find more bugs.
hypothesis.settings.register_profile("cogitate", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("cogitate")

RECORDINGS = "COGITATE_RECORDINGS"
REQUIRE = "COGITATE_REQUIRE_SYSTEM"
BARE = "bare_path"
BARE_PATH = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the check of named tests, the cleanups and the PATH without system programs."""
    # A background job of a shell ignores SIGINT, and every process that a test starts would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(NamedTests(config))
    config.add_cleanup(stop_server)
    config.add_cleanup(forked_python.stop)
    forked_python.install()
    if hasattr(config, "workerinput"):
        config.stash[BARE_PATH] = config.workerinput[BARE]
        return
    folder = tempfile.TemporaryDirectory(prefix="cogitate-path-")
    config.add_cleanup(folder.cleanup)
    config.stash[BARE_PATH] = path_without_system_programs(os.environ["PATH"], Path(folder.name))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let all xdist workers share the links to programs: there are thousands."""
    node.workerinput[BARE] = node.config.stash[BARE_PATH]


@contextlib.contextmanager
def bare_machine(config: pytest.Config) -> Generator[None]:
    """Hide recorded runs and system programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(RECORDINGS, raising=False)
        patch.setenv("PATH", config.stash[BARE_PATH])
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Hide recorded runs and system programs while modules are imported, since skip conditions run then.

    Collected items live as long as the session, so they are kept out of garbage collection. A higher threshold makes
    later collections rarer, which saves a tenth of the tests' CPU.
    """
    gc.disable()
    try:
        with bare_machine(session.config):
            return (yield)
    finally:
        gc.set_threshold(10_000, 20, 20)
        gc.enable()
        gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip test files that name none of the marks selected by `-m`, without importing them."""
    words = set(re.findall(r"\w+", config.option.markexpr)) - {"and", "or"}
    if not words or "not" in words or not collection_path.name.startswith("test_"):
        return None
    return True if words.isdisjoint(re.findall(r"\w+", collection_path.read_text())) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use recorded runs.

    Raises:
        pytest.UsageError: the file of a marked test does not name the mark, so `-m` would not find it.
    """
    for item in items:
        if "recordings" in getattr(item, "fixturenames", ()):
            item.add_marker("recordings")
    marked = {(item.path, mark) for item in items for mark in ("system", "recordings") if item.get_closest_marker(mark)}
    for path, mark in sorted(marked):
        if not re.search(rf"\b{mark}\b", path.read_text()):
            raise pytest.UsageError(f"{path}: name the mark {mark} in this file, so that `-m {mark}` finds its tests")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Hide recorded runs and system programs unless the test is marked."""
    marked = any(item.get_closest_marker(name) for name in ("system", "recordings"))
    with contextlib.nullcontext() if marked else bare_machine(item.config):
        return (yield)


@pytest.fixture(scope="session")
def recordings() -> Path:
    """Return the folder of recorded runs. A test that uses this fixture is marked `recordings`."""
    folder = os.environ.get(RECORDINGS)
    if not folder:
        # Recordings are not part of the project. If their folder is named, as in CI, a missing one is a failure.
        pytest.skip(f"{RECORDINGS} names no folder of recorded runs")
    if not Path(folder).is_dir():
        pytest.fail(f"{RECORDINGS}={folder} is not a folder")
    return Path(folder)


@pytest.fixture(autouse=True)
def own_logging() -> Generator[None]:
    """Reset logging to its unconfigured state before and after each test."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@contextlib.contextmanager
def kinds_restored() -> Generator[None]:
    """Unregister the kinds that a block registers; otherwise later runs in this process would use them too."""
    from cogitate.tasks import registry  # imported here because collection must not import the product

    before = dict(registry._kinds)
    yield
    registry._kinds.clear()
    registry._kinds.update(before)


@pytest.fixture(autouse=True, scope="module")
def kinds_of_module() -> Generator[None]:
    """Unregister the kinds that a module's fixtures register."""
    with kinds_restored():
        yield


@pytest.fixture(autouse=True)
def kinds_of_test() -> Generator[None]:
    """Unregister the kinds that a test registers."""
    with kinds_restored():
        yield


@pytest.fixture(scope="session")
def eventually() -> Eventually:
    """Return the function that waits for a condition: `eventually(lambda: …, "the worker to be ready")`.

    Its timeout in seconds only ends a wait that would last for ever. It asserts no speed: on a busy machine a process
    takes many times as long to start.
    """
    return wait_until


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a marked test into a failure if COGITATE_REQUIRE_SYSTEM is set."""
    report = yield
    if report.skipped and must_run(item) and not hasattr(report, "wasxfail"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{REQUIRE} is set, so this test must not be skipped: {why}"
    return report


def must_run(item: pytest.Item) -> bool:
    """Return whether a test must not skip; one that needs recordings may, unless the environment names their folder."""
    if not os.environ.get(REQUIRE):
        return False
    needs_recordings = item.get_closest_marker("recordings") is not None
    return item.get_closest_marker("system") is not None or (needs_recordings and bool(os.environ.get(RECORDINGS)))

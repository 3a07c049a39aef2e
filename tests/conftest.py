"""What all tests share: waiting, recorded runs, skips that are failures where all must be there, named tests.

Only a test that is marked `system` or `recordings` sees programs of the system and recorded runs. To all others a
machine that has them looks like one that has not, so that a run on either shows what a run on both would.
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
# No test asserts a time. In CI examples are the same in every run; elsewhere they differ, to find more.
hypothesis.settings.register_profile("cogitate", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("cogitate")

RECORDINGS = "COGITATE_RECORDINGS"
REQUIRE = "COGITATE_REQUIRE_SYSTEM"
BARE = "bare_path"
BARE_PATH = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Whole sessions fail where a test that a document names was not seen to pass."""
    # In a shell's background SIGINT is ignored, and every process that a test starts would inherit that.
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
    """Let processes that run tests share the links to programs: these are thousands."""
    node.workerinput[BARE] = node.config.stash[BARE_PATH]


@contextlib.contextmanager
def bare_machine(config: pytest.Config) -> Generator[None]:
    """Hide recorded runs and programs of the system."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(RECORDINGS, raising=False)
        patch.setenv("PATH", config.stash[BARE_PATH])
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Hide them from modules that are imported, and so from conditions of skips.

    What is collected lives as long as the session, so the garbage collector walks it neither here nor later. It walks
    what tests leave behind less often than usual: a tenth of their CPU.
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
    """Do not import a file of tests that names none of the marks which `-m` selects."""
    words = set(re.findall(r"\w+", config.option.markexpr)) - {"and", "or"}
    if not words or "not" in words or not collection_path.name.startswith("test_"):
        return None
    return True if words.isdisjoint(re.findall(r"\w+", collection_path.read_text())) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses recorded runs.

    Raises:
        pytest.UsageError: when the file of a marked test does not name the mark, so that `-m` would not find it.
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
    """Show them to a test that is marked."""
    marked = any(item.get_closest_marker(name) for name in ("system", "recordings"))
    with contextlib.nullcontext() if marked else bare_machine(item.config):
        return (yield)


@pytest.fixture(scope="session")
def recordings() -> Path:
    """Return the folder of recorded runs, and mark each test that uses it as `recordings`."""
    folder = os.environ.get(RECORDINGS)
    if not folder:
        # They are not part of the project. Where their folder is named, as in CI, one that is missing is a failure.
        pytest.skip(f"{RECORDINGS} names no folder of recorded runs")
    if not Path(folder).is_dir():
        pytest.fail(f"{RECORDINGS}={folder} is no folder")
    return Path(folder)


@pytest.fixture(autouse=True)
def own_logging() -> Generator[None]:
    """Reset logging before each test to its unconfigured state."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@contextlib.contextmanager
def kinds_restored() -> Generator[None]:
    """Forget the kinds that a block registers: every run after it in this process would think with them too."""
    from cogitate.tasks import registry  # here, since collecting imports nothing of the product

    before = dict(registry._kinds)
    yield
    registry._kinds.clear()
    registry._kinds.update(before)


@pytest.fixture(autouse=True, scope="module")
def kinds_of_module() -> Generator[None]:
    """Forget the kinds that fixtures of a module register."""
    with kinds_restored():
        yield


@pytest.fixture(autouse=True)
def kinds_of_test() -> Generator[None]:
    """Forget the kinds that a test registers."""
    with kinds_restored():
        yield


@pytest.fixture(scope="session")
def eventually() -> Eventually:
    """Wait for a condition: `eventually(lambda: …, "what is waited for")`.

    The timeout, in seconds, ends a wait for what never happens. It tells nothing of speed: on a machine that others
    keep busy a process takes many times as long to start.
    """
    return wait_until


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With COGITATE_REQUIRE_SYSTEM set, what a marked test needs must be there: a skip becomes a failure."""
    report = yield
    if report.skipped and must_run(item) and not hasattr(report, "wasxfail"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{REQUIRE} is set, so this test must not be skipped: {why}"
    return report


def must_run(item: pytest.Item) -> bool:
    """Return whether a test must not skip here; recorded runs count only if the environment names some."""
    if not os.environ.get(REQUIRE):
        return False
    needs_recordings = item.get_closest_marker("recordings") is not None
    return item.get_closest_marker("system") is not None or (needs_recordings and bool(os.environ.get(RECORDINGS)))

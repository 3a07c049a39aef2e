"""Fixtures of fault tests: an endpoint, a town, the digest of the undisturbed run; and repeated rounds of tests.

`pytest tests/faults --rounds 20` runs each test 20 times and prints how often it passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.faults.attacked import Attacked, Eventually, settings_of, undisturbed
from tests.faults.ledger_servers import LedgerServers, SingleServer

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record for fixtures whether their test has failed."""
    report = yield
    item.stash[FAILED] = report.failed
    return report


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    """Yield a model's endpoint."""
    with FakeEndpoint() as endpoint:
        yield endpoint
        endpoint.release()


@pytest.fixture
def servers() -> Callable[[Path], LedgerServers]:
    """Return the class that starts a run's servers; `also_on_a_cluster` overrides this by a parameter."""
    return SingleServer


@pytest.fixture
def town(
    request: pytest.FixtureRequest,
    endpoint: FakeEndpoint,
    tmp_path: Path,
    eventually: Eventually,
    servers: Callable[[Path], LedgerServers],
) -> Iterator[Attacked]:
    """Yield a town with ready workers and no host yet."""
    with Attacked(settings_of(tmp_path, endpoint), eventually, servers) as town:
        town.ready()
        yield town
        if request.node.stash.get(FAILED, False):
            town.explain()


@pytest.fixture(scope="session")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the digest of the undisturbed run."""
    with FakeEndpoint() as endpoint:
        return undisturbed(settings_of(tmp_path_factory.mktemp("undisturbed"), endpoint))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the number of rounds."""
    parser.addoption("--rounds", type=int, default=1, help="how often each test of faults is run")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per round if there is more than one round."""
    rounds = metafunc.config.getoption("rounds")
    if rounds > 1:
        metafunc.fixturenames.append("round_number")
        metafunc.parametrize("round_number", range(1, rounds + 1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print for each test how often it passed, and of how many rounds."""
    rounds = config.getoption("rounds")
    if rounds == 1:
        return
    passed: Counter[str] = Counter()
    run: Counter[str] = Counter()
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, ()):
            if outcome == "error" or report.when == "call":
                name = report.nodeid.split("::")[-1].partition("[")[0]
                run[name] += 1
                passed[name] += outcome == "passed"
    terminalreporter.section("faults")
    for name, times in sorted(run.items()):
        terminalreporter.write_line(f"{passed[name]:4} of {times} passed  {name}")

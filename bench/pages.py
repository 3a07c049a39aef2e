"""First paint of every page that people look at, of a live run with many agents and memories.

    python -m bench pages --agents 1000

`cogitate run` lives a day of a town and then goes on at one tick a second, while Chromium opens the pages of Flower,
the report and the comparison with a second, shorter run. Needs playwright and Debian's chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import psutil

from bench.table import Row, Table
from bench.worker.concurrency import cpu_seconds
from cogitate.ops.flower.job_list import job_list
from cogitate.scheduler.inspection.job_records import NEWEST, JobQuery
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.ledger.run_store import run_names
from cogitate.workers.processes.embedded import EmbeddedServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

RUN, OTHER = "crowd", "other"
DAY = 1_440  # ticks
SHORT = 480  # ticks of the second run
LIVE_RATE = 1.0  # ticks a second while pages are opened
PORT = 5_599
PASSWORD = ("bench", "bench")
WINDOW: ViewportSize = {"width": 1280, "height": 800}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PAINTED = """() => {
    const [from] = performance.getEntriesByType("navigation");
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return paint ? [from.responseStart - from.requestStart, paint.startTime, from.encodedBodySize] : null;
}"""


class Seen(NamedTuple):
    """The times of one page load in milliseconds, and its size."""

    server: float  # until the first byte of its answer
    paint: float  # until its first paint
    kilobytes: float


def table(
    agents: int = 1_000,
    days: Annotated[int, "game days before the pages are opened"] = 1,
    loads: Annotated[int, "how often each page is opened; the first time counts apart"] = 6,
    data_dir: Annotated[Path | None, "folder in which to keep the runs, or that has them from before"] = None,
) -> Table:
    """Live some days, open each page and return its times."""
    with ExitStack() as resources:
        folder = data_dir or Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="cogitate-")))
        server = resources.enter_context(EmbeddedServer(folder))
        with server.client() as client:
            for run, ticks, seed in ((RUN, days * DAY, 0), (OTHER, SHORT, 1)):
                if run not in run_names(client):
                    _cogitate("run", "--run", run, "--town", agents, "--ticks", ticks, "--seed", seed, data_dir=folder)
            resources.enter_context(_live(folder, days + 7))
            flower = resources.enter_context(_flower(folder))
            addresses = {name: f"http://127.0.0.1:{PORT}{path}" for name, path in _paths(client).items()}
            for name, arguments in (("report", (RUN, "--out")), ("compare", (RUN, OTHER, "--html"))):
                _cogitate(name, *arguments, folder / f"{name}.html", data_dir=folder)
                addresses[f"cogitate {name}"] = (folder / f"{name}.html").as_uri()
            browser = resources.enter_context(_browser())
            rows = [Row(name, _measured(browser, address, loads, flower)) for name, address in addresses.items()]
            memories = sum(sum(counts.values()) for counts in summarise_run(client, RUN).memories.values())
    note = (
        f"{agents:,} agents with {memories:,} memories, live at {LIVE_RATE:g} tick a second; milliseconds, medians of "
        f"{loads - 1} loads after the first"
    )
    columns = ("first byte", "first paint", "the first time", "Flower's CPU", "kB")
    return Table("First paint of every page", columns, tuple(rows), note, decimals=0)


def _measured(browser: Browser, address: str, loads: int, flower: psutil.Process) -> tuple[float | None, ...]:
    first = _opened(browser, address)
    before = cpu_seconds(flower)
    seen = [_opened(browser, address) for _ in range(loads - 1)]
    spent = 1_000 * (cpu_seconds(flower) - before) / len(seen) if address.startswith("http") else None
    paint = median(one.paint for one in seen)
    return median(one.server for one in seen), paint, first.paint, spent, first.kilobytes


def _opened(browser: Browser, address: str) -> Seen:
    """Open a page in a window without a cache, until it is painted."""
    user, password = PASSWORD
    context = browser.new_context(viewport=WINDOW, http_credentials={"username": user, "password": password})
    page = context.new_page()
    page.goto(address, timeout=120_000)
    found: Any = page.wait_for_function(PAINTED, timeout=120_000).json_value()
    context.close()
    server, paint, size = found
    return Seen(server, paint, size / 1_000)


def _paths(client: Any) -> dict[str, str]:
    job = job_list(client, RUN, JobQuery(state="applied"), NEWEST)["jobs"][0]["id"]
    of_run = f"?run={RUN}"
    return {
        "Cogitate": f"/overview{of_run}",
        "Budgets": f"/budgets{of_run}",
        "Cadence": f"/cadence{of_run}",
        "Waiting": f"/waiting{of_run}",
        "Charts, an hour": f"/charts{of_run}",
        "Charts, a day": f"/charts{of_run}&span=day",
        "Charts, the run": f"/charts{of_run}&span=run",
        "Steering": f"/steering{of_run}",
        "Jobs": f"/cogitate/jobs{of_run}",
        "Jobs, those that failed": f"/cogitate/jobs{of_run}&state=failed",
        "a job": f"/job?id={job}",
        "Minds": f"/minds{of_run}",
    }


def _cogitate(*arguments: object, data_dir: Path) -> None:
    subprocess.run(_command(*arguments, data_dir=data_dir), env=_environment(), check=True, stdout=subprocess.DEVNULL)


def _command(*arguments: object, data_dir: Path) -> list[str]:
    return [sys.executable, "-m", "cogitate.ops", *map(str, arguments), "--data-dir", str(data_dir)]


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("COGITATE_", "FLOWER_"))}


@contextmanager
def _process(*arguments: object, data_dir: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (data_dir / f"{arguments[0]}.log").open("wb") as out:
        process = subprocess.Popen(_command(*arguments, data_dir=data_dir), env=_environment(), stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _live(data_dir: Path, days: int) -> Iterator[None]:
    """Go on with the run for a block, at a pace that leaves the machine to the pages."""
    goes_on = ("run", "--run", RUN, "--resume", "--days", days, "--tick-rate", LIVE_RATE)
    with _process(*goes_on, data_dir=data_dir):
        yield


@contextmanager
def _flower(data_dir: Path) -> Iterator[psutil.Process]:
    """Serve Flower for a block; return its process."""
    with _process("flower", f"--port={PORT}", f"--basic-auth={':'.join(PASSWORD)}", data_dir=data_dir) as process:
        _until(_answers, process)
        yield psutil.Process(process.pid)


def _until(holds: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not holds():
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} exited with {process.returncode}")
        time.sleep(0.1)  # between two tries: Flower does not announce that it is up


def _answers() -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz", timeout=5):
        return True
    return False


@contextmanager
def _browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise RuntimeError("no chromium on this machine: install Debian's")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()

"""A limit of requests a minute, kept by several worker processes against a server that enforces it without mercy.

The server (`ops/fake_llm/limit.py`) enforces a sliding window with a burst of one: one request at a time may come ahead
of the even pace. With a burst of 0 no two may be closer than the pace, and a thread that the machine wakes late may
cost a 429. More jobs than fit are open all the time; counted is what the server accepted and refused since its first
request. The count that counts is the last one whose answer came within the time, whenever this process is woken.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals, endpoint_vitals

WORKERS = 3
LOOK_EVERY = 0.02  # seconds between two looks at what the server has counted
SHORTFALL = 1 / 30  # of what the limit allows may be left unused


class Kept(NamedTuple):
    """The calls under a limit within `seconds`."""

    per_minute: int
    seconds: float
    allowed: int
    accepted: int
    refused: int  # by the server: 429
    vitals: EndpointVitals

    @property
    def least(self) -> int:
        """The fewest requests that count as using the limit."""
        return round(self.allowed * (1 - SHORTFALL))

    @property
    def holds(self) -> bool:
        """Return whether nothing was refused and little was left unused."""
        return not self.refused and self.least <= self.accepted <= self.allowed


def measure(per_minute: int, seconds: float, folder: Path, burst: int = 1) -> Kept:
    """Run jobs for `seconds` of real time, and a little longer; `folder` is for the data of the run."""
    allowed = round(per_minute * seconds / 60)
    owners = {f"agent:{number:03}": Profile(name=f"Agent {number}") for number in range(allowed + WORKERS)}
    with _server(per_minute, burst) as url:
        limited = Endpoint(base_url=url, api_key="any", requests_per_minute=per_minute, burst=burst)
        settings = Settings(
            data_dir=folder,
            workers=WORKERS,
            llm="openai",
            limit_tokens=1_000_000_000,
            limits={},
            guarantees={},
            wait=2 * seconds + 60,
            job_deadline=120.0,
            endpoints={"default": limited},
        )
        counted = [(0, 0)]

        def count() -> None:
            began = time.monotonic()  # not after the first request
            while True:
                looked = time.monotonic()
                found = _served(url)
                if time.monotonic() - began > seconds:
                    return
                if sum(found):
                    counted.append(found)
                else:
                    began = looked
                time.sleep(LOOK_EVERY)  # between two looks at the count of another process

        counting = threading.Thread(target=count, name="count", daemon=True)
        counting.start()
        with TickLoop(run="limited", owners=owners, settings=settings, ticks=30) as loop:
            for tick in loop:
                if tick.number == 1:
                    for owner in owners:
                        loop.request("plan", owner)
            (vitals,) = endpoint_vitals(loop.ledger.client)
        counting.join()
    return Kept(per_minute, seconds, allowed, *counted[-1], vitals)


@contextlib.contextmanager
def _server(per_minute: int, burst: int) -> Iterator[str]:
    """Yield the URL of a stand-in in a process of its own: a busy process would accept requests late."""
    limit = ["--requests-per-minute", str(per_minute), "--burst", str(burst)]
    command = [sys.executable, "-m", "cogitate.ops", "fake-llm", "--port", "0", *limit]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _served(url: str) -> tuple[int, int]:
    """Return the requests accepted and refused so far."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as response:
        by_status = json.load(response)["by_status"]
    return by_status.get("200", 0), by_status.get("429", 0)


def shown(kept: Kept) -> Table:
    """Return the measurement as a table."""
    row = Row(f"{kept.per_minute} a minute", (kept.allowed, kept.accepted, kept.refused, kept.vitals.waits))
    return Table(
        f"A limit of requests a minute, {WORKERS} workers, {kept.seconds:g} seconds",
        ("allowed", "accepted", "refused (429)", "calls that waited"),
        (row,),
    )


def report(per_minute: int, seconds: float, burst: int = 1) -> int:
    """Measure, print, and answer with an exit code."""
    with tempfile.TemporaryDirectory() as folder:
        kept = measure(per_minute, seconds, Path(folder), burst)
    print(shown(kept))
    if kept.holds:
        return 0
    print(f"not kept: {kept.least} to {kept.allowed} should have been accepted, and none refused")
    return 1

"""A limit of requests per minute, kept by several worker processes against a server that enforces it strictly.

The server (`ops/fake_llm/server.py`) enforces a sliding window with a burst of one: one request at a time may arrive
ahead of the even pace. With a burst of 0 no two requests may be closer than the pace, and a thread that wakes late may
cause a 429. There are always more open jobs than the limit allows. The measurement counts the requests that the server
accepted and refused since its first request, using the last count that arrived within the time.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated, NamedTuple

from bench.table import Row, Table
from bench.worker.concurrency import endpoint, stats_of
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals, endpoint_vitals

WORKERS = 3
LOOK_EVERY = 0.02  # seconds between two reads of the server's counts
SHORTFALL = 1 / 30  # share of the limit that may be left unused


class Kept(NamedTuple):
    """The calls made under a limit within `seconds`."""

    per_minute: int
    seconds: float
    allowed: int
    accepted: int
    refused: int  # by the server: 429
    vitals: EndpointVitals

    @property
    def least(self) -> int:
        """Return the fewest requests that count as using the limit."""
        return round(self.allowed * (1 - SHORTFALL))

    @property
    def holds(self) -> bool:
        """Return whether no request was refused and the limit was used almost fully."""
        return not self.refused and self.least <= self.accepted <= self.allowed


def measure(per_minute: int, seconds: float, folder: Path, burst: int = 1, delayed: int = 0) -> Kept:
    """Run jobs for slightly more than `seconds` of real time, with the run's data in `folder`.

    Args:
        per_minute: the limit that both sides know.
        seconds: the measured time.
        folder: holds the run's data.
        burst: requests that may run ahead of the even pace, on both sides.
        delayed: more requests that the server alone accepts ahead of it, since a busy machine delivers some late.
    """
    allowed = round(per_minute * seconds / 60)
    owners = {f"agent:{number:03}": Profile(name=f"Agent {number}") for number in range(allowed + WORKERS)}
    with endpoint("--requests-per-minute", per_minute, "--burst", burst + delayed) as url:
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
                time.sleep(LOOK_EVERY)  # between two reads: the counts are in another process

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


def _served(url: str) -> tuple[int, int]:
    """Return the requests accepted and refused so far."""
    by_status = stats_of(url)["by_status"]
    return by_status.get("200", 0), by_status.get("429", 0)


def shown(kept: Kept) -> Table:
    """Return the measurement as a table."""
    row = Row(f"{kept.per_minute} a minute", (kept.allowed, kept.accepted, kept.refused, kept.vitals.waits))
    return Table(
        f"A limit of requests a minute, {WORKERS} workers, {kept.seconds:g} seconds",
        ("allowed", "accepted", "refused (429)", "calls that waited"),
        (row,),
    )


def report(
    per_minute: int = 60,
    seconds: float = 300.0,
    burst: Annotated[int, "requests that the server accepts ahead of the even pace"] = 1,
) -> int:
    """Measure, print, and return an exit code."""
    with tempfile.TemporaryDirectory() as folder:
        kept = measure(per_minute, seconds, Path(folder), burst)
    print(shown(kept))
    if kept.holds:
        return 0
    print(f"not kept: {kept.least} to {kept.allowed} should have been accepted, and none refused")
    return 1

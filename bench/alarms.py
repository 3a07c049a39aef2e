"""False alarms on a healthy day: every card of Flower's first page that turns yellow or red, when and why.

    python -m bench alarms --agents 25 --rate 10

`cogitate run` hosts a town, with its own workers and a stand-in for a model of ordinary latency; one in a hundred of
its calls fails. Nothing is wrong, so every red card is a false alarm.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import msgspec

from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.ops.flower.readings import Readings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.workers.processes.embedded import EmbeddedServer

RUN = "healthy"
DAY = 1_440  # game minutes
LOOK_EVERY = 1.0  # seconds, for which viewers share a page's reading
FAULTS = {"503": 0.005, "not_json": 0.005}  # shares of the calls
GRADES = {"bad": "red", "warn": "yellow"}


class Alarm(msgspec.Struct):
    """A card that was red or yellow in consecutive readings."""

    card: str
    colour: str
    clock: str  # game time at its start
    value: str
    why: list[str]
    begin: float  # seconds since the first reading
    end: float = 0.0
    looks: int = 0


class Watch:
    """The alarms of a run's cards."""

    def __init__(self) -> None:
        self.alarms: list[Alarm] = []
        self.looks = 0
        self._open: dict[str, Alarm] = {}

    def look(self, reading: dict[str, Any], at: float) -> None:
        """Take a reading of the first page, this many seconds after the first one."""
        self.looks += 1
        for card in reading["cards"]:
            name, colour = card["name"], GRADES.get(card["grade"], "")
            before = self._open.get(name)
            if before is not None and before.colour != colour:
                del self._open[name]
            if colour and name not in self._open:
                alarm = Alarm(name, colour, reading["clock"], card["value"], card["lines"], at)
                self._open[name] = alarm
                self.alarms.append(alarm)
            if colour:
                self._open[name].end, self._open[name].looks = at, self._open[name].looks + 1

    def told(self) -> str:
        """Return the alarms in words, and the number of readings with each colour."""
        lines = []
        for one in self.alarms:
            when = f"{one.begin:.0f} to {one.end:.0f} s, {one.clock}"
            lines.append(f"{when}: {one.colour} {one.card}, {one.value}: {'; '.join(one.why)}")
        for colour in GRADES.values():
            of = [one for one in self.alarms if one.colour == colour]
            lines.append(
                f"{colour}: {len(of)} alarms in {sum(one.looks for one in of)} card readings of {self.looks} looks"
            )
        return "\n".join(lines)


def report(
    agents: int = 25,
    rate: Annotated[float, "ticks a second; a tick is a minute of game time"] = 10.0,
    latency: Annotated[float, "seconds of the median call; one in twenty takes 2.3 times as long"] = 0.3,
    workers: int = 2,
    days: int = 1,
    data_dir: Annotated[Path | None, "folder in which to keep the run"] = None,
) -> int:
    """Run a town, print what its cards said, and return an exit code: 1 if one was red."""
    with ExitStack() as resources:
        folder = data_dir or Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="cogitate-")))
        endpoint = resources.enter_context(FakeEndpoint(latency=latency, tail=0.5, faults=FAULTS))
        resources.enter_context(EmbeddedServer(folder))
        out = resources.enter_context((folder / "host.log").open("wb"))
        arguments = ["--run", RUN, "--town", agents, "--days", days, "--tick-rate", rate, "--workers", workers]
        arguments += ["--llm", "openai", "--limit-tokens", 10**9, "--data-dir", folder]
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("COGITATE_", "OPENAI_"))}
        host = subprocess.Popen(
            [sys.executable, "-m", "cogitate.ops", "run", *map(str, arguments)],
            env=plain | {"COGITATE_BASE_URL": endpoint.url, "COGITATE_API_KEY": "any", "COGITATE_MODEL": MODEL},
            stdout=out,
            stderr=out,
        )
        resources.callback(host.wait)
        resources.callback(host.kill)
        found = _watched(host, Readings(Settings(data_dir=folder, redis_url=None), {}), days * DAY)
        if host.returncode:
            raise RuntimeError(f"the host exited with {host.returncode}: {(folder / 'host.log').read_text()[-2000:]}")
    print(found.told())
    return 1 if any(one.colour == "red" for one in found.alarms) else 0


def _watched(host: subprocess.Popen[bytes], readings: Readings, last: int) -> Watch:
    watched, began = Watch(), 0.0
    while host.poll() is None:
        time.sleep(LOOK_EVERY)  # between two readings, as an open page waits
        try:
            reading = readings.overview(RUN)
        except RunMissing:
            continue
        if 0 < reading["tick"] < last and reading["status"] == "running":
            began = began or time.monotonic()
            watched.look(reading, time.monotonic() - began)
    return watched

"""Measure the time from a host's cold start to its first result from a model.

A new process imports the product and opens a run, which starts an embedded server and two worker processes. It requests
one reflection from a stand-in that answers immediately, and records the time of each step until the result is applied.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.table import Row, Table
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint

ROUNDS = 5
STEPS = ("imported", "server and workers started", "first tick committed", "first result applied")
IMPORTS = (
    "import celery, redis, pydantic",
    "import cogitate",
    "from cogitate import TickLoop",
)  # the first is for comparison


def table(rounds: int = ROUNDS) -> Table:
    """Return the seconds from the start of the process to each step."""
    with FakeEndpoint() as endpoint:
        runs = [_seconds(endpoint.url) for _ in range(rounds)]
    rows = []
    for step, name in enumerate(STEPS):
        taken = [run[step] for run in runs]
        rows.append(Row(name, (median(taken), min(taken), max(taken))))
    for code in IMPORTS:
        times = [_cpu_seconds(code) for _ in range(rounds)]
        rows.append(Row(f"CPU of `{code}`", (median(times), min(times), max(times))))
    return Table("From the start of a host", ("s", "least", "most"), tuple(rows), f"{rounds} starts.", decimals=2)


def _cpu_seconds(code: str) -> float:
    timed = f"import time; began = time.process_time(); {code}; print(time.process_time() - began)"
    return float(subprocess.run([sys.executable, "-c", timed], stdout=subprocess.PIPE, check=True).stdout)


def _seconds(url: str) -> list[float]:
    with TemporaryDirectory() as folder:
        began = time.time()
        done = subprocess.run(
            [sys.executable, "-m", "bench.worker.start", folder, url],
            cwd=Path(__file__).parents[2],
            env=os.environ,
            stdout=subprocess.PIPE,
            check=True,
        )
    clocks: list[float] = json.loads(done.stdout)
    return [clock - began for clock in clocks]


def start(folder: str, url: str) -> list[float]:
    """Return the time of each step of a host's start."""
    from cogitate.hosting.tick_loop import TickLoop
    from cogitate.memory.profile import Profile
    from cogitate.scheduler.config.settings import PinnedSettings
    from cogitate.scheduler.intake.observations import Observation

    clocks = [time.time()]
    settings = PinnedSettings(
        data_dir=Path(folder),
        llm="openai",
        base_url=url,
        api_key="any",
        model=MODEL,
        limit_tokens=1_000_000,
        latency={"reflect": 1},
        act_interval=0,
    )
    owner = "agent:ann"
    with TickLoop(run="start", owners={owner: Profile(name="Ann")}, settings=settings, ticks=50) as loop:
        clocks.append(time.time())
        for tick in loop:
            if tick.number == 1:
                for number in range(10):
                    seen = Observation(text=f"Ben sold {number} apples.", minute=tick.minute, importance=5)
                    loop.observe(owner, seen)
            elif tick.number == 2:
                clocks.append(time.time())
                loop.request("reflect", owner)
            elif any(entry.type == "reflection" for entry in loop.state.streams[owner].live()):
                clocks.append(time.time())
                break
    if len(clocks) != len(STEPS):
        raise RuntimeError("no result was applied")
    return clocks


if __name__ == "__main__":
    print(json.dumps(start(*sys.argv[1:])))

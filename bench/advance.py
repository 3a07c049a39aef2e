"""Measure one `advance` with 100 ends and 100 new jobs, compared with a bare pipeline of the same writes.

A tick's script checks the run's lease, reads what the next boundary needs and writes everything in one step. MONITOR
records its writes, and the bench repeats them on another database of the same server, as one transaction of a pipeline
that checks and reads nothing. That database also has the writes of all earlier ticks. The two take turns, tick by tick,
and MONITOR slows both.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench.crowd import idle_kind
from bench.monitored_writes import MonitoredWrites
from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.workers.processes.embedded import EmbeddedServer

JOBS = 100
TICKS, WARM = 130, 30
COPY = 3  # database


def table(ticks: int = TICKS) -> Table:
    """Return the milliseconds of a tick's step and of the bare pipeline."""
    owners = {f"agent:a{number}": Profile(name=f"Ann{number}") for number in range(JOBS)}
    steps: list[tuple[float, float, int]] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(EmbeddedServer(folder))
        copy: Any = stack.enter_context(server.client(COPY))
        writes = MonitoredWrites(stack.enter_context(server.client(0)))
        settings = PinnedSettings(
            data_dir=folder,
            redis_url=server.url,
            workers=0,
            wait=0.0,
            limits={},
            kinds=(idle_kind.__name__,),
            latency={idle_kind.NAME: 2},
            act_interval=0,
            repair_from=1440,
            disable=("plan", "reflect", "rate"),
        )
        loop = stack.enter_context(TickLoop(run="advance", owners=owners, settings=settings, ticks=ticks))
        ledger: Any = loop.ledger
        advance = ledger.advance

        def timed(*given: Any) -> Any:
            writes.take()
            began = time.perf_counter()
            answer = advance(*given)
            ours = time.perf_counter() - began
            made = writes.take()
            began = time.perf_counter()
            with copy.pipeline(transaction=True) as pipeline:
                for words in made:
                    pipeline.execute_command(*words)
                pipeline.execute()
            steps.append((ours, time.perf_counter() - began, len(made)))
            return answer

        ledger.advance = timed
        for _ in loop:
            for owner in owners:
                loop.request(idle_kind.NAME, owner)
    counted = steps[WARM:-1]
    ratios = [ours / bare for ours, bare, _ in counted]
    rows = (
        Row("one advance", (1000 * median(step[0] for step in counted), median(ratios), min(ratios), max(ratios))),
        Row("a bare pipeline of its writes", (1000 * median(step[1] for step in counted), 1.0, 1.0, 1.0)),
    )
    number = median(step[2] for step in counted)
    note = f"{JOBS} ends and {JOBS} new jobs a tick, {number:g} writes; {len(counted)} ticks."
    return Table("One step of the ledger", ("ms", "times the pipeline", "least", "most"), rows, note, decimals=2)

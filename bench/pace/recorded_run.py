"""A recorded day repeated in real time: its calls are made, and their results used, at the recorded steps."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.pace import recorded_kinds
from bench.pace.paced import PacedCase, PacedRun, measure_run
from bench.pace.recorded_calls import RATING, THOUGHT, RecordedCalls, owner_of, steps_of
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.ops.load.run import wait_for_workers
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.engine.run_data import FinishedTick
from cogitate.simulation.recorded.recording import Recording
from cogitate.tasks.registry import kind_names
from cogitate.workers.processes.embedded import EmbeddedServer


class _Reflecting:
    """The agents' reflections, each of which requests its next call when the one before has ended."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[int]] = {}  # owner -> steps at which the remaining calls are used
        self._asked: set[str] = set()

    def add(self, calls: RecordedCalls) -> None:
        self._waiting.setdefault(calls.owner, deque()).extend([calls.use] * calls.number)

    def committed(self, tick: int, outcome: FinishedTick, _: float) -> None:
        self._asked -= {ended.key.owner for ended in outcome.core.ended if ended.key.kind == THOUGHT}

    def ask(self, loop: TickLoop, tick: int) -> None:
        for owner, uses in self._waiting.items():
            if uses and owner not in self._asked:
                loop.request(THOUGHT, owner, within=max(1, uses.popleft() - tick))
                self._asked.add(owner)


def live_recorded(recording: Recording, calls: Sequence[RecordedCalls], latency: float, rate: float) -> PacedRun:
    """Run a recorded day, one step per tick, with an endpoint of fixed latency."""
    waiting, steps = deque(calls), steps_of(recording)
    pace = PacedCase(
        tick_rate=rate,
        latency=latency,
        ticks=steps,
        agents=len(recording.personas),
        tail=0.0,
        seconds_per_tick=recording.meta.sec_per_step,
    )
    lived = PacedRun(pace=pace, calls=[(one.owner, one.step) for one in calls for _ in range(one.number)])
    others = tuple(name for name in kind_names() if name not in (RATING, THOUGHT))
    owners = {owner_of(persona.name): Profile(name=persona.name) for persona in recording.personas}
    with TemporaryDirectory() as folder, FakeEndpoint(latency=latency) as endpoint:
        settings = Settings.tuned(
            data_dir=Path(folder),
            llm="openai",
            base_url=endpoint.url,
            api_key="any",
            model=MODEL,
            limit_tokens=100_000_000,
            tick_rate=rate,
            limits={},
            coalesce=False,
            disable=others,
            kinds=(recorded_kinds.__name__,),
        )
        reflecting = _Reflecting()
        with (
            EmbeddedServer(Path(folder)),
            TickLoop(
                run="recorded", owners=owners, settings=settings, ticks=steps, watchers=[reflecting.committed]
            ) as loop,
        ):
            wait_for_workers(loop.ledger.client, settings.workers)
            began = time.monotonic()
            for tick in loop:
                while waiting and waiting[0].step <= tick.number:
                    one = waiting.popleft()
                    if one.kind == THOUGHT:
                        reflecting.add(one)
                    else:
                        for _ in range(one.number):
                            loop.request(RATING, one.owner, within=max(1, one.use - tick.number))
                reflecting.ask(loop, tick.number)
            lived.seconds = time.monotonic() - began
            measure_run(lived, loop.ledger.client, loop)
    return lived

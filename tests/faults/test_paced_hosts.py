"""A host on a real clock, before a model that takes its time, is killed and goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.faults.attacked import MORNING, TICKS, Attacked, Eventually, settings_of

TICK_RATE, LATENCY = 5.0, 0.3  # an answer takes a tick and a half; one of 20 more than three
KILLED = (MORNING - 10, MORNING + 6)  # after these ticks: plans are asked for between them


def test_a_paced_host_that_is_killed_twice_leaves_one_run_that_replays(tmp_path: Path, eventually: Eventually) -> None:
    with FakeEndpoint(latency=LATENCY, tail=0.5) as endpoint:
        settings = settings_of(tmp_path, endpoint, tick_rate=TICK_RATE, wait=0.0)
        with Attacked(settings, eventually) as town:
            town.ready()
            host = town.host()
            for tick in KILLED:
                town.until_tick(tick)
                os.kill(host.pid, signal.SIGKILL)
                host.wait()
                host = town.host(take_over=True)
            said, code = town.outcome(host)
            assert code == 0, said
            town.proven()
            thought = [tick for tick, _, note in town.endings() if note.source == "llm"]
            assert any(tick > KILLED[-1] for tick in thought), town.endings()
            learned = {line.core.tick for line in town.lines() if line.notes.timed}
            assert len(learned) > 1, "it learned what the model takes from more than one boundary"
            assert town.tick() == TICKS

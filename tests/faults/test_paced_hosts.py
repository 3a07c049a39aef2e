"""A host on a real clock, with a slow model, that is killed and resumed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.faults.attacked import MORNING, TICKS, Attacked, Eventually, settings_of

TICK_RATE, LATENCY = 5.0, 0.3  # an answer takes a tick and a half, one in 20 more than three ticks
KILLED = (MORNING - 10, MORNING + 6)  # the host is killed after these ticks; plans are requested between them


def test_a_paced_host_killed_twice_leaves_one_run_that_replays(tmp_path: Path, eventually: Eventually) -> None:
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
            answered = [tick for tick, _, note in town.endings() if note.source == "llm"]
            assert any(tick > KILLED[-1] for tick in answered), town.endings()
            timed = {line.core.tick for line in town.lines() if line.notes.timed}
            assert len(timed) > 1, "it learned the model's latency at more than one boundary"
            assert town.tick() == TICKS

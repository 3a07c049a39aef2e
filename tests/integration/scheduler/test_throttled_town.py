"""A town without workers for some hours slows its reflections down, recovers, and counts each postponed one."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from redis import Redis

from cogitate.hosting.inline import InlinePublisher
from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import ReadLine
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.simulation.town.town import Town
from tests.live_redis import empty_redis

LONG = 10  # minutes a tick
HOUR = 60
BEGIN, END = 11 * HOUR, 17 * HOUR  # the outage, in game minutes
RUN, TICKS = "throttled", 32 * HOUR // LONG
AGENTS = 6


def live(folder: Path, client: Redis, *, until: int = TICKS, resume: bool = False) -> TickLoop:
    """Host a town without waiting for workers, of which there are none from `BEGIN` to `END`, so that jobs are late."""
    world, away = Town(AGENTS, seed=5, minutes_per_tick=LONG), False
    published = InlinePublisher.publish
    settings = Settings.tuned(
        data_dir=folder,
        seconds_per_tick=60 * LONG,
        limits={},
        act_interval=HOUR // LONG,
        act_per_tick=AGENTS,
        wait=0,
        hint_interval=1e6,
        reflection_interval=120,
        latency=dict.fromkeys(("plan", "reflect", "act", "summarise"), 1),
    )

    def outage(tick: Tick) -> None:
        nonlocal away
        away = BEGIN <= tick.minute < END

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InlinePublisher, "publish", lambda self, jobs: 0 if away else published(self, jobs))
        with TickLoop(
            run=RUN,
            owners=world.owners(),
            settings=settings,
            locations=world.locations,
            brief=world.brief,
            ticks=until,
            inline=True,
            client=client,
            exist="resume" if resume else "create",
        ) as loop:
            drive(loop, world, on_tick=outage)
    return loop


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TickLoop:
    return live(tmp_path_factory.mktemp("whole"), empty_redis())


def lines_of(loop: TickLoop) -> list[ReadLine]:
    return list(read_journal(RunStore.open(loop.ledger.client, RUN), 1, loop.tick))


def test_reflections_slow_down_in_an_outage_and_recover(whole: TickLoop) -> None:
    lines, client = lines_of(whole), whole.ledger.client
    steps = {line.core.minute: line.core.stepped for line in lines if line.core.stepped is not None}
    cadence = {minute: step.factor for minute, step in steps.items()}

    def at(minute: int) -> int:
        return cadence[max(m for m in cadence if m <= minute)] if minute >= min(cadence) else 1000

    assert at(BEGIN) == 1000
    assert at(BEGIN + 2 * HOUR) <= 500
    assert at(END) == 125
    assert at(END + 4 * HOUR) == 1000
    changes = [step.factor - step.before for step in steps.values() if step.factor != step.before]
    turns = sum((one > 0) != (other > 0) for one, other in pairwise(changes))
    assert turns == 1, "down while the workers are gone, up when they are back"

    postponed = [line for core in lines for line in core.core.postponed]
    summary = summarise_run(client, RUN)
    assert len(postponed) == summary.warnings["reflect.postponed"] == summary.steering.postponed > AGENTS
    assert summary.steering.waiting == 0, "each owner whose reflection was postponed has reflected since"
    reflected = {
        d.key.owner for line in lines if line.core.minute > END for d in line.core.decided if d.key.kind == "reflect"
    }
    assert {line.owner for line in postponed} <= reflected
    assert audit(client, RUN) == []
    assert replay(client, RUN, empty_redis()).digest == whole.digest


@pytest.mark.parametrize("stopped", [BEGIN // LONG + 9, END // LONG + 8])
def test_a_resumed_run_throttles_like_an_uninterrupted_one(tmp_path: Path, whole: TickLoop, stopped: int) -> None:
    client = empty_redis()
    live(tmp_path, client, until=stopped)
    resumed = live(tmp_path, client, until=stopped + 12, resume=True)
    assert resumed.digest == lines_of(whole)[resumed.tick - 1].digest

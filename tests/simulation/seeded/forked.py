"""Forks of a disturbed run at a tick that it has reached: unchanged, each makes no call and equals its source."""

from __future__ import annotations

from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.journal.changes import Fork
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.run_store import RunStore
from tests.simulation.seeded.processes import Broken
from tests.simulation.seeded.scene import RUN, Scene
from tests.simulation.seeded.world import world_of

FORK = "f"


def check_fork(scene: Scene, client: Redis, tick: int) -> None:
    """Fork the run as far as it has come, and check the fork.

    Args:
        tick: of the fork; the fork repeats the ticks after it too.

    Raises:
        Broken: when the fork differs from the run, or spends anything.
    """
    source = RunStore.open(client, RUN)
    last, world = source.tick(), world_of(scene)
    with TickLoop(
        run=FORK,
        owners=world.owners(),
        settings=scene.settings.changed(wait=0.0, lease=1e9),
        locations=world.locations,
        brief=world.brief,
        ticks=scene.ticks,
        start_minute=scene.start,
        event_types=world.event_types,
        inline=True,
        client=client,
        fork=Fork(run=RUN, tick=tick),
    ) as loop:
        for one in loop:
            world.live(loop, one)
            if one.number == last:
                break
    fork = RunStore.open(client, FORK)
    if problems := audit(client, FORK):
        raise Broken(f"a fork at tick {tick}: {'; '.join(problems[:3])}")
    repeated = zip(read_journal(source, 1, last), read_journal(fork, 1, last), strict=True)
    for line, again in repeated:
        where = f"a fork at tick {tick}, tick {line.core.tick}"
        if again.digest != line.digest:
            raise Broken(f"{where}: it differs from its source")
        if any(spent.cost.tokens for spent in spending(again.notes)):
            raise Broken(f"{where}: it has spent what its source had paid")
    delete_run(client, FORK, force=True)

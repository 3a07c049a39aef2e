"""The body that drives a world: owners that come and go, checkpoints, and going on after a crash."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis import Redis

from cogitate import Tick, TickLoop
from cogitate.errors import InputError
from cogitate.ops.world_driver import drive
from cogitate.simulation.town.town import Town

Loops = Callable[..., TickLoop]

TICKS = 120
START = 300  # minutes after midnight: the morning's plans fall in


def town() -> Town:
    return Town(agents=4, seed=1, start_minute=START)


def comings_and_goings(world: Town) -> Callable[[Tick], None]:
    """The second agent leaves after tick 40, the third is away from the start and comes after tick 70."""
    first, second, third, *_ = town().owners()
    del first

    def on_tick(tick: Tick) -> None:
        if tick.number == 40:
            world.leave(second)
        if tick.number == 70:
            world.join(third)

    return on_tick


def open_loop(loops: Loops, world: Town, client: Redis | None = None, resume: bool = False) -> TickLoop:
    given = {"client": client} if client is not None else {}
    return loops(
        owners=world.owners(),
        locations=world.locations,
        brief=world.brief,
        ticks=TICKS,
        start_minute=START,
        exist="resume" if resume else "create",
        **given,
    )


def away() -> Town:
    """A town whose third agent has not come yet."""
    world = town()
    world.leave(list(world.owners())[2])
    return world


def undisturbed(loops: Loops) -> TickLoop:
    world = away()
    loop = open_loop(loops, world)
    drive(loop, world, on_tick=comings_and_goings(world))
    return loop


def test_appearing_agents_join_and_disappearing_ones_leave(cogitate_loop: Loops) -> None:
    loop = undisturbed(cogitate_loop)
    first, second, third, fourth = town().owners()
    assert sorted(loop.state.streams) == sorted([first, third, fourth])
    assert loop.state.retired == {second}
    assert all(entry.tick > 70 for entry in loop.state.streams[third].entries.values())


class Crash(Exception):
    pass


@pytest.mark.parametrize("crash", [5, 45, 75, 110])
def test_a_crashed_host_resumes_to_the_same_digest(cogitate_loop: Loops, crash: int) -> None:
    world = away()
    loop = open_loop(cogitate_loop, world)
    live = comings_and_goings(world)

    def until(tick: Tick) -> None:
        live(tick)
        if tick.number == crash:
            raise Crash

    with pytest.raises(Crash):
        drive(loop, world, checkpoint_every=30, on_tick=until)
    again = away()
    resumed = open_loop(cogitate_loop, again, loop.ledger.client, resume=True)
    assert resumed.tick == crash - 1
    seen: list[Tick] = []
    live = comings_and_goings(again)

    def note(tick: Tick) -> None:
        live(tick)
        seen.append(tick)

    drive(resumed, again, checkpoint_every=30, on_tick=note)
    assert [tick.number for tick in seen] == list(range((crash - 1) // 30 * 30 + 1, TICKS + 1))
    assert [tick.number for tick in seen if tick.replayed] == list(range((crash - 1) // 30 * 30 + 1, crash))
    assert resumed.digest == undisturbed(cogitate_loop).digest


def test_a_stopped_run_has_its_checkpoint_at_the_last_tick(cogitate_loop: Loops) -> None:
    world = away()
    loop = open_loop(cogitate_loop, world)

    def stop(tick: Tick) -> None:
        if tick.number == 33:
            loop.stop()

    drive(loop, world, on_tick=stop)
    assert loop.tick == 33
    resumed = open_loop(cogitate_loop, away(), loop.ledger.client, resume=True)
    assert resumed.restored == world.dump()


def test_a_returning_name_is_refused(cogitate_loop: Loops) -> None:
    world = town()
    loop = open_loop(cogitate_loop, world)
    owner = next(iter(world.owners()))

    def on_tick(tick: Tick) -> None:
        if tick.number == 3:
            world.leave(owner)
        if tick.number == 5:
            world.join(owner)

    with pytest.raises(InputError, match=owner):
        drive(loop, world, on_tick=on_tick)

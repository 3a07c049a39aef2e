"""A run that goes on with a world that repeats nothing."""

from __future__ import annotations

import random

import pytest
from fakeredis import FakeRedis

from cogitate import TickLoop
from cogitate.errors import ConfigurationError, WorldDiverged
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from tests.unit.hosting.short_loop_case import LAST, Loops, opened


def drift(loop: TickLoop, ticks: int) -> list[int]:
    """Observe what no other host would, and stop after some ticks; return their numbers."""
    passed = []
    for tick in loop:
        assert not tick.replayed
        passed.append(tick.number)
        for owner in loop.state.profiles or ():
            loop.observe(owner, {"text": f"The dial shows {random.random()}."})
        if len(passed) == ticks:
            break
    return passed


@pytest.mark.parametrize("kills", [False, True])
def test_it_continues_after_the_last_committed_tick(cogitate_loop: Loops, kills: bool) -> None:
    client, first = FakeRedis(), 3
    loop = opened(cogitate_loop, client=client)
    assert drift(loop, first) == [1, 2, 3]
    loop.close(commit=not kills)
    stands = first - kills
    resumed = opened(cogitate_loop, client=client, exist="resume", world="present")
    assert (int(resumed.tick), resumed.restored, resumed.checkpoint_tick) == (stands, None, 0)
    assert drift(resumed, LAST) == list(range(stands + 1, LAST + 1))
    resumed.close()
    assert audit(client, "test") == []
    assert replay(client, "test", FakeRedis()).digest == resumed.digest


def test_a_missing_run_is_created(cogitate_loop: Loops) -> None:
    assert drift(opened(cogitate_loop, exist="resume", world="present"), 1) == [1]


def test_a_diverging_host_is_told_how_to_continue(cogitate_loop: Loops) -> None:
    client = FakeRedis()
    loop = opened(cogitate_loop, client=client)
    for tick in loop:
        loop.observe("agent:ada", {"text": f"The dial shows {random.random()}."})
        if tick.number == 2:
            loop.checkpoint(b"two")
        if tick.number == 4:
            break
    loop.close()
    resumed = opened(cogitate_loop, client=client, exist="resume")
    with pytest.raises(WorldDiverged, match=r'world="present" to continue at tick 5 .* checkpoint of tick 2'):
        for _ in resumed:
            pass
    again = opened(cogitate_loop, client=client, exist="resume", world="present")
    assert (again.restored, again.checkpoint_tick) == (b"two", 2)
    assert drift(again, 1) == [5]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"world": "past"}, "world='past' is invalid: give"),
        ({"world": "present"}, 'world="present" applies to a resumed run'),
        ({"world": "present", "exist": "replace"}, 'add exist="resume"'),
    ],
)
def test_an_invalid_world_is_refused(cogitate_loop: Loops, given: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        opened(cogitate_loop, **given)

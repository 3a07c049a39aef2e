"""A tick is one body's: what asks for the next one, or says something for it, from elsewhere is refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from cogitate import Location, Observation, Profile, TickLoop
from cogitate.errors import UsageError
from cogitate.scheduler.config.settings import PinnedSettings
from tests.unit.hosting.short_loop_case import LAST, Loops, opened

ADA = "agent:ada"


def nested(loop: TickLoop) -> None:
    for _ in loop:
        next(iter(loop))


def in_a_block(loop: TickLoop) -> None:
    with loop.next_tick():
        next(iter(loop))


def block_in_a_body(loop: TickLoop) -> None:
    for _ in loop:
        with loop.next_tick():
            pass


@pytest.mark.parametrize("body", [nested, in_a_block, block_in_a_body])
def test_no_body_loses_its_tick_to_another(cogitate_loop: Loops, body: Callable[[TickLoop], None]) -> None:
    with pytest.raises(UsageError, match=r"tick 1 is open.*would end its body and skip a tick"):
        body(opened(cogitate_loop))


def test_any_iterator_continues_after_a_break(cogitate_loop: Loops) -> None:
    loop, seen = opened(cogitate_loop), []
    for tick in loop:
        seen.append(tick.number)
        break
    seen += [next(iter(loop)).number, next(iter(loop)).number]
    with loop.next_tick() as tick:
        seen.append(tick.number)
    seen += [tick.number for tick in loop]
    assert seen == list(range(1, LAST + 1))


def test_two_tasks_do_not_share_the_ticks(cogitate_loop: Loops) -> None:
    async def iterate(loop: TickLoop) -> None:
        async for _ in loop:
            await asyncio.sleep(0)

    async def host() -> tuple[Any, ...]:
        async with opened(cogitate_loop) as loop:
            return await asyncio.gather(iterate(loop), iterate(loop), return_exceptions=True)

    first, second = asyncio.run(host())
    assert first is None
    assert isinstance(second, UsageError)
    assert "already waits for the next tick" in str(second)


def test_another_thread_cannot_act_in_the_turn(cogitate_loop: Loops) -> None:
    loop, said = opened(cogitate_loop), []

    def say() -> None:
        try:
            loop.observe(ADA, {"text": "A bell."})
        except UsageError as error:
            said.append(str(error))

    for tick in loop:
        if tick.number == 2:
            thread = threading.Thread(target=say, name="reader")
            thread.start()
            thread.join()
            break
    assert "thread 'reader' made this call, but another thread received tick 2" in said[0]
    assert not loop.memory(ADA).recent(1)


@pytest.mark.parametrize("minutes", [1, 10])
def test_an_observation_has_the_time_of_the_tick_by_default(cogitate_loop: Loops, minutes: int) -> None:
    settings = PinnedSettings(seconds_per_tick=60 * minutes)
    loop = cogitate_loop(owners={ADA: Profile(name="Ada")}, ticks=3, start_minute=500, settings=settings)
    for tick in loop:
        for seen in (Observation(text="A bell."), {"text": "A cart."}, {"text": "A dog.", "minute": None}):
            loop.observe(
                ADA, seen if isinstance(seen, Observation) else {**seen, "text": f"{seen['text']} {tick.number}"}
            )
        loop.observe(ADA, Observation(text=f"It rained. {tick.number}", minute=tick.minute - 60))
    times = {entry.text: entry.minute for entry in loop.memory(ADA).recent(20)}
    assert {times[f"{what} 3"] for what in ("A cart.", "A dog.")} == {500 + 3 * minutes}
    assert times["It rained. 3"] == 440 + 3 * minutes


def test_a_suspicious_call_is_warned_of_once(cogitate_loop: Loops) -> None:
    owners = {ADA: Profile(name="Ada", home="hose"), "location:inn": Profile(name="The inn")}
    settings = PinnedSettings(seconds_per_tick=600)
    with capture_logs() as logs:
        loop = cogitate_loop(
            owners=owners, ticks=4, settings=settings, locations=[Location(id="house", name="The house")]
        )
        for tick in loop:
            for place in ("house", "inn", "huose"):
                seen = Observation(text="A bell.", location=place, subjects=("Ben", ADA, "agent:bne"))
                loop.observe(ADA, seen)
            loop.observe(ADA, Observation(text="A bell.", minute=tick.number))
    told = [
        (one["event"], one.get("what"), one["then"])
        for one in logs
        if "unknown" in one["event"] or "dated" in one["event"]
    ]
    assert sorted(told, key=str) == [
        ("observation.dated_by_tick", None, "leave minute out, or give tick.minute"),
        ("observation.unknown_location", "huose", "did you mean 'house'?"),
        ("observation.unknown_subject", "agent:bne", "kept as it is"),
        ("profile.unknown_home", "hose", "did you mean 'house'?"),
    ]

"""Repeated observations are counted on the entry that they repeat, also after a resume and in a replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry, Marks
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.tick.tick_iterator import WorldDiverged
from tests.live_redis import empty_redis

ANN, BEN = "agent:ann", "agent:ben"
TICKS = 54
LONG = 60  # minutes a tick: the run crosses two midnights
SIGHTS = (
    "The stove is idle",
    "The bed is idle.",
    "the stove is idle",
    "Ben is checking his emails",
    "The STOVE is idle.",
)


def seen(tick: int, minute: int) -> Iterator[tuple[str, Entry]]:
    """Yield the observations of a world that shows the same few things again and again."""
    for owner in (ANN, BEN):
        for i in range(3):
            text = SIGHTS[(tick * 7 + i * (2 if owner == ANN else 3)) % len(SIGHTS)]
            yield owner, Entry(type="observation", text=text, minute=minute, importance=1 + i)
    yield ANN, Entry(type="message", text="Ben: Yes.", minute=minute, source="dialogue", subjects=(BEN, ANN))


def live(
    tmp_path: Path, client: Redis, *, until: int = TICKS, resume: bool = False, also: str = "", **settings: object
) -> TickLoop:
    loop = TickLoop(
        run="seen",
        owners={ANN: Profile(name="Ann"), BEN: Profile(name="Ben")},
        ticks=until,
        exist="resume" if resume else "create",
        settings=Settings.tuned(data_dir=tmp_path, seconds_per_tick=60 * LONG, **settings),
        inline=True,
        client=client,
    )
    with loop:
        for tick in loop:
            for owner, entry in seen(tick.number, tick.minute):
                loop.observe(owner, entry)
            if also:
                loop.observe(ANN, Entry(type="observation", text=also, minute=tick.minute))
    return loop


def told(stream: Stream, day: int) -> list[str]:
    return [e.text for e in stream.entries.values() if e.type == "observation" and e.minute // DAY == day]


def test_each_day_keeps_one_entry_of_each_text_and_counts_the_rest(tmp_path: Path) -> None:
    loop = live(tmp_path, empty_redis())
    stream = loop.state.streams[BEN]
    for day in (0, 1, 2):
        texts = {text.lower().rstrip(".") for text in told(stream, day)}
        assert texts == {"the stove is idle", "the bed is idle", "ben is checking his emails"}
    stored = sum(e.type == "observation" for e in stream.entries.values())
    repeats = sum(marks.repeats for marks in stream.marks.values())
    assert stored + repeats == 3 * TICKS
    assert stored < 30
    last = max(stream.marks.items(), key=lambda item: item[1].last_repeat)
    assert last[1].last_repeat == TICKS * LONG
    assert stream.entries[last[0]].minute < last[1].last_repeat


def test_lines_of_a_conversation_are_never_coalesced(tmp_path: Path) -> None:
    stream = live(tmp_path, empty_redis()).state.streams[ANN]
    assert sum(e.type == "message" for e in stream.entries.values()) == TICKS


def test_without_coalescing_every_observation_is_stored(tmp_path: Path) -> None:
    stream = live(tmp_path, empty_redis(), coalesce=False).state.streams[BEN]
    assert sum(e.type == "observation" for e in stream.entries.values()) == 3 * TICKS
    assert all(marks.repeats == 0 for marks in stream.marks.values())


@pytest.mark.parametrize("stopped", [1, 19, 33])
def test_a_resumed_run_counts_the_same_repeats(tmp_path: Path, stopped: int) -> None:
    whole = live(tmp_path, empty_redis())
    client = empty_redis()
    live(tmp_path, client, until=stopped)
    resumed = live(tmp_path, client, resume=True)
    assert resumed.digest == whole.digest
    assert resumed.state.streams[BEN].marks == whole.state.streams[BEN].marks


def test_a_replay_counts_the_same_and_the_auditor_agrees(tmp_path: Path) -> None:
    client = empty_redis()
    loop = live(tmp_path, client)
    assert replay(client, "seen", empty_redis()).digest == loop.digest
    assert audit(client, "seen") == []


def test_a_resumed_world_with_an_additional_observation_is_refused(tmp_path: Path) -> None:
    client = empty_redis()
    live(tmp_path, client, until=9)
    with pytest.raises(WorldDiverged, match="tick 1: the resumed world observed 8 entries that differ from the 7"):
        live(tmp_path, client, resume=True, also="A comet.")


def test_a_more_important_repeat_is_stored(tmp_path: Path) -> None:
    loop = TickLoop(
        run="fire",
        owners={ANN: Profile(name="Ann")},
        ticks=3,
        settings=Settings(data_dir=tmp_path),
        inline=True,
        client=empty_redis(),
    )
    for tick in loop:
        importance = (2, 8, 5)[tick.number - 1]
        loop.observe(ANN, Entry(type="observation", text="The stove burns.", minute=tick.minute, importance=importance))
    stream = loop.state.streams[ANN]
    assert [e.importance for e in stream.entries.values()] == [2, 8]
    assert stream.marks == {2: Marks(repeats=1, last_repeat=3)}

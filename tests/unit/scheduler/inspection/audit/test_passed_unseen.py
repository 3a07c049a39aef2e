"""The auditor finds jobs that archived, or passed with a cursor, what their prompts did not show."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.effects import AdvanceCursor, Append, Archive, Effect
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.stream import Stream
from cogitate.scheduler.inspection.audit_streams import passed_unseen
from cogitate.scheduler.journal.lines import Core, Ended, ReadLine, TickNotes
from cogitate.tasks.job import JobKey

ADA, INN, BOB, WORLD = "agent:ada", "location:inn", "npc:bob", "world"
PROFILES = {BOB: Profile(name="Bob"), INN: Profile(name="The Inn"), WORLD: Profile(name="The valley")}


def streams() -> dict[str, Stream]:
    found = {owner: Stream(owner) for owner in (ADA, INN, BOB, WORLD)}
    for text, place in (
        ("Bob came.", "inn"),
        ("It rained.", "mill"),
        ("Tea?", "inn"),
        ("So it is.", "inn"),
        ("Bob!", "inn"),
    ):
        found[WORLD].append(Entry(type="message", text=text, minute=1, location=place), 1)
    for tags in (("integrate",), (), ("integrate",)):
        found[ADA].append(Entry(type="observation", text="A vote.", minute=1, tags=tags), 1)
    return found


def found(*effects: Effect, part: str = "ended", end: Any = "applied") -> list[str]:
    ended = (Ended(key=JobKey(5, "any", effects[0].owner, 0, 0), end=end, effects=effects),)
    core = Core(tick=9, minute=9, **{part: ended})  # type: ignore[arg-type]
    return passed_unseen(ReadLine(core, TickNotes(epoch=1), "", ""), streams(), PROFILES)


def told(owner: str) -> Append:
    location = "" if owner == WORLD else "inn"
    return Append(owner, Entry(type="summary", text="They spoke.", minute=9, location=location))


@pytest.mark.parametrize("part", ["ended", "late"])
def test_an_archive_of_more_than_was_shown_is_found(part: str) -> None:
    assert found(Archive(ADA, (1, 2), into_summary=True, shown=(1, 2, 3)), part=part) == []
    assert found(Archive(ADA, (1, 2, 3), into_summary=True, shown=(2,)), part=part) == [
        "tick 9: job 5/any/agent:ada/0/0 archived entries [1, 3], which its prompt did not show"
    ]


@pytest.mark.parametrize(
    ("owner", "name", "end", "shown", "unseen"),
    [
        (ADA, "integrate", 3, (1, 3), None),
        (ADA, "integrate", 2, (1,), None),
        (ADA, "integrate", 3, (1,), [3]),
        (INN, "world", 5, (1, 3, 4, 5), None),
        (INN, "world", 5, (1, 3), [4, 5]),
        (INN, "world", 3, (1, 3), None),
        (WORLD, "world", 5, (1, 3, 4, 5), [2]),
        (WORLD, "world", 5, (1, 2, 3, 4, 5), None),
        (BOB, "world:inn", 5, (1, 5), None),
        (BOB, "world:inn", 5, (1, 3), [5]),
        (ADA, "of a host", 5, (), None),
        (BOB, "world:mill", 5, (), None),
        (BOB, "worlds:inn", 5, (), None),
        (BOB, "world", 5, (1, 5), None),
        (BOB, "world", 5, (1, 3), [5]),
    ],
)
def test_a_cursor_beyond_the_shown_messages_is_found(
    owner: str, name: str, end: int, shown: tuple[int, ...], unseen: list[int] | None
) -> None:
    lines = found(told(owner), AdvanceCursor(owner, name, 0, end, shown=shown))
    where = (
        f"tick 9: job 5/any/{owner}/0/0 moved its cursor {name} past entries {unseen}, which its prompt did not show"
    )
    assert lines == ([where] if unseen else [])


def test_a_cursor_passes_messages_behind_its_start() -> None:
    assert found(AdvanceCursor(ADA, "integrate", 1, 3, shown=(3,))) == []
    assert found(told(INN), AdvanceCursor(INN, "world", 1, 5, shown=(3, 4, 5))) == []


def test_an_npcs_cursor_of_all_places_covers_each_place() -> None:
    before = streams()
    before[BOB].head.cursors["world"] = 4
    cursor = AdvanceCursor(BOB, "world:inn", 0, 5, shown=(5,))
    ended = Ended(key=JobKey(5, "any", BOB, 0, 0), end="applied", effects=(told(BOB), cursor))
    line = ReadLine(Core(tick=9, minute=9, ended=(ended,)), TickNotes(epoch=1), "", "")
    assert passed_unseen(line, before, PROFILES) == []
    assert passed_unseen(line, streams(), PROFILES), "without it, the first message was not shown"


def test_the_place_is_that_of_the_owners_own_memory() -> None:
    elsewhere = Append(ADA, Entry(type="summary", text="Elsewhere.", minute=9, location="mill"))
    assert found(AdvanceCursor(INN, "world", 0, 5, shown=(1, 3, 4, 5)), elsewhere, told(INN)) == []
    archive = Archive(INN, (), into_summary=True)
    assert found(archive, told(INN), AdvanceCursor(INN, "world", 0, 5, shown=(1, 3, 4, 5))) == []


def test_an_owner_without_memories_hears_messages_of_all_places() -> None:
    assert found(AdvanceCursor(BOB, "world", 0, 5, shown=(1, 5))) == []
    assert found(AdvanceCursor(WORLD, "world", 0, 5, shown=(1, 3, 4, 5)))[0].count("entries [2]") == 1


def test_the_world_hears_of_every_place() -> None:
    memory = Append(WORLD, Entry(type="summary", text="They spoke.", minute=9, location="inn"))
    assert found(memory, AdvanceCursor(WORLD, "world", 0, 5, shown=(1, 3, 4, 5)))[0].count("entries [2]") == 1


def test_reads_of_heuristics_and_unapplied_results_are_not_findings() -> None:
    assert found(Archive(ADA, (1,), into_summary=True), AdvanceCursor(ADA, "integrate", 0, 3)) == []
    assert found(Archive(ADA, (1,), into_summary=True, shown=()), end="stale") == []

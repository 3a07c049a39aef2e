"""The three tiers in one prompt, and the lines of scoped memories."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.entry import Character, Entry, PlanItem
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.window import buffer_tokens, is_near_limit, summary_room
from cogitate.memory.prompt_context import context_lines
from cogitate.memory.routing.context import (
    context_window,
    latest,
    location_memory,
    memory_line,
    npc_memory,
    scope_context,
    world_memory,
)
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import estimate_tokens


def entry(text: str, minute: int, **fields: Any) -> Entry:
    return Entry(**{"type": "observation", "number": minute, **fields}, text=text, minute=minute)


OWN = [entry("I woke up.", 1), entry("I voted.", 5), entry("I won.", 9)]
SHARED = [entry("Alice spoke.", 2), entry("Bob spoke.", 6)]


def test_all_three_tiers_are_seen() -> None:
    window = context_window(summary="I am a voter.", memories=OWN, history=SHARED)
    assert window.summary == "I am a voter."
    assert [e.text for e in window.memories] == ["I woke up.", "I voted.", "I won."]
    assert [e.text for e in window.history] == ["Alice spoke.", "Bob spoke."]
    assert window.characters == 13 + 10 + 8 + 6 + 12 + 10


def test_the_oldest_half_is_left_out_on_overflow() -> None:
    window = context_window(memories=OWN, history=SHARED, share=0.5)
    assert [e.minute for e in (*window.memories, *window.history)] == [5, 9, 6]
    assert context_window(memories=OWN, share=0.0).memories == ()


@pytest.mark.parametrize("limit", range(0, 70, 3))
def test_a_limit_is_kept_and_the_newest_go_first(limit: int) -> None:
    window = context_window(summary="S", memories=OWN, history=SHARED, limit=limit)
    assert window.characters <= max(1, limit)
    minutes = sorted(e.minute for e in (*window.memories, *window.history))
    assert minutes == [1, 2, 5, 6, 9][5 - len(minutes) :]


def test_a_text_in_the_owners_memory_is_not_shown_twice() -> None:
    window = context_window(memories=[entry("Bob  SPOKE.", 6)], history=SHARED)
    assert [e.text for e in window.history] == ["Alice spoke."]


@pytest.mark.parametrize("limit", [200, 500, 900])
def test_memory_compression_starts_at_80_percent_and_aims_at_60(limit: int) -> None:
    limits = MemoryLimits(policy="tokens", token_limit=limit)
    stream = Stream("agent:alice")
    while not is_near_limit(stream, limits):
        assert buffer_tokens(stream.live()) < 0.8 * limit
        stream.append(entry("We walked ten miles to the old stone bridge.", stream.head.last_number + 1), 1)
    assert buffer_tokens(stream.live()) >= 0.8 * limit - 1
    kept = stream.live()[-limits.retain :]
    room = summary_room(kept, Character(), limits)
    assert 0.6 * limit - 1 <= room + buffer_tokens(kept) <= 0.6 * limit


def told(owner: str, *texts: str) -> Stream:
    stream = Stream(owner)
    for at, text in enumerate(texts):
        stream.append(Entry(type="summary", text=text, minute=1440 + 60 * at), at)
    return stream


STREAMS = {
    "location:inn": told("location:inn", "One.", "Two.", "Three.", "Four."),
    "npc:bob": told("npc:bob", "Bob promised\na sword."),
    "npc:eve": told("npc:eve"),
    "world": told("world", "The quest began."),
}


def test_the_last_three_memories_of_a_location_one_line_each() -> None:
    assert location_memory(STREAMS, "inn") == (
        "Recent Location Memory:\n- day 2, 1:00 AM: Two.\n- day 2, 2:00 AM: Three.\n- day 2, 3:00 AM: Four."
    )
    assert location_memory(STREAMS, "inn", count=1).endswith("Memory:\n- day 2, 3:00 AM: Four.")
    assert location_memory(STREAMS, "cellar") == ""


def test_each_present_npc_has_its_memories_named() -> None:
    assert npc_memory(STREAMS, ["npc:eve", "npc:bob", "npc:bob"], {"npc:bob": "Bob Smith"}) == (
        "NPC Memory:\nBob Smith:\n- day 2, 12:00 AM: Bob promised a sword."
    )
    assert npc_memory(STREAMS, ["npc:eve"], {}) == ""


def test_the_world_and_all_sections_together() -> None:
    assert world_memory(STREAMS) == "World Memory:\n- day 2, 12:00 AM: The quest began."
    together = scope_context(STREAMS, location="inn", present=["npc:bob"])
    assert [line for line in together.splitlines() if line and not line.startswith("-")] == [
        "Recent Location Memory:",
        "NPC Memory:",
        "bob:",
        "World Memory:",
    ]
    named = scope_context(STREAMS, location="inn", present=["npc:bob"], names={"npc:bob": "Bob Smith"})
    assert named == together.replace("bob:", "Bob Smith:")
    assert scope_context({}, location="inn") == ""


def test_a_long_memory_is_one_short_line_and_other_entries_are_not_memories() -> None:
    assert len(memory_line(entry("long story " * 100, 5))) <= 330
    assert latest([entry("Hello.", 1, type="message"), entry("Over.", 2, type="summary")])[0].text == "Over."
    assert latest([entry("Over.", 2, type="summary")], 0) == []


def test_entries_fill_the_limit_to_the_last_character(subtests: pytest.Subtests) -> None:
    cases: list[tuple[int | None, list[str]]] = [
        (None, ["one", "two", "three"]),
        (11, ["one", "two", "three"]),
        (10, ["two", "three"]),
        (8, ["two", "three"]),
        (7, ["three"]),
        (5, ["three"]),
        (4, []),
        (0, []),
        (-1, []),
    ]
    for limit, texts in cases:
        with subtests.test(limit=limit):
            entries = [
                Entry(type="observation", text=text, minute=n, number=n)
                for n, text in enumerate(("one", "two", "three"))
            ]
            found = context_window(memories=entries, limit=limit)
            assert [entry.text for entry in found.memories] == texts
            summary = context_window(summary="past", memories=entries, limit=None if limit is None else limit + 4)
            assert [entry.text for entry in summary.memories] == texts


@pytest.mark.parametrize(("share", "kept"), [(2.0, 4), (1.0, 4), (0.76, 4), (0.75, 3), (0.01, 1), (0.0, 0), (-1.0, 0)])
def test_the_newest_share_of_all_entries_is_shown(share: float, kept: int) -> None:
    own = [Entry(type="observation", text=f"own {n}", minute=n, number=n) for n in (1, 3)]
    of_all = [Entry(type="message", text=f"all {n}", minute=n, number=n) for n in (1, 2)]
    found = context_window(memories=own, history=of_all, share=share)
    ordered = ["own 1", "all 1", "all 2", "own 3"][4 - kept :]
    assert [entry.text for entry in found.memories] == [text for text in ordered if text.startswith("own")]
    assert [entry.text for entry in found.history] == [text for text in ordered if text.startswith("all")]
    assert found.characters == 5 * kept


def lines(*memories: Entry, room: int = 1_000, **planned: PlanItem) -> list[str]:
    none: dict[str, Any] = {"now": None, "later": None}
    text = context_lines(
        room=room, character=Character(), summary="", memories=memories, names={"cafe": "Hobbs Cafe"}, **none | planned
    )
    return text.splitlines()


def test_of_equal_texts_the_most_important_is_shown() -> None:
    assert lines(entry("Bob spoke.", 9), entry("bob  SPOKE.", 2), entry("Ann spoke.", 5)) == [
        "- day 1, 12:05 AM: Ann spoke.",
        "- day 1, 12:09 AM: Bob spoke.",
    ]


def test_memories_fill_the_room_to_the_last_token() -> None:
    first, second = entry("Ann spoke.", 1), entry("Bob and the whole council spoke.", 2)
    size = sum(estimate_tokens(line) for line in lines(first, second))
    assert len(lines(first, second, room=size)) == 2
    assert lines(second, first, room=size - 1) == lines(second), "the more important is kept"
    assert lines(second, first, room=estimate_tokens(lines(first)[0])) == lines(first), "what does not fit makes room"


def test_items_of_the_plan_are_shown_with_their_time_and_place_as_far_as_they_have_any() -> None:
    timed = PlanItem(id="1", description="Have  lunch", minute=725, location="cafe")
    assert lines(now=PlanItem(id="2", description="Write"), later=timed) == [
        "Now: Write",
        "Next: 12:05 PM Have lunch (Hobbs Cafe)",
    ]


def test_a_line_shows_three_hundred_characters_of_a_memory() -> None:
    assert memory_line(entry("x" * 300, 60)) == f"- day 1, 1:00 AM: {'x' * 300}"
    longer = memory_line(entry("x" * 301, 60)).removeprefix("- day 1, 1:00 AM: ")
    assert len(longer) <= 300
    assert longer.startswith("xxx")
    assert longer.endswith("...")


def test_three_memories_of_a_scope_are_shown_and_none_at_zero() -> None:
    told = [entry(f"Part {n}.", n, type="summary") for n in (4, 1, 3, 2)]
    assert [e.minute for e in latest(told)] == [2, 3, 4]
    assert [e.minute for e in latest(told, 1)] == [4]
    assert latest(told, 0) == latest([OWN[0]]) == []

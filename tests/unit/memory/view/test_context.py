"""The context that a view writes: what it shows, and that it fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.entry import Character
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import estimate_tokens
from cogitate.memory.view import MemoryView
from tests.unit.memory.view.day_case import DAY, seen, stream_of
from tests.unit.memory.view.view_case import BEN, view_of


def test_a_context_shows_profile_plan_and_memories(stream: Stream, view: MemoryView) -> None:
    stream.head.character = Character(objectives=("win the fair",), relationships={"Ben Cole": "a friend"})
    stream.head.summary = "Ada came to the valley as a child. She took over the forge."
    assert view.context("Who has bellows?", tokens=1_000).splitlines() == [
        "Known: Objectives: win the fair",
        "Known: Relationships: Ben Cole (a friend)",
        "Earlier: Ada came to the valley as a child. She took over the forge.",
        "Now: 3:00 PM Mend the bellows (The Inn)",
        "Next: 6:00 PM Have supper",
        "- day 1, 5:00 AM: Ada and Cy talked of rain.",
        "- day 1, 8:00 AM: The bellows of the forge are torn.",
        "- day 1, 10:00 AM: Ben: Lend me a hammer.",
        "- day 1, 10:05 AM: Ada: Take this one.",
        "- day 1, 2:00 PM: Ben Cole lent a pair of bellows.",
        "- day 1, 2:10 PM: Cy: The inn burned.",
        "- day 1, 3:00 PM: Ben can be relied on.",
    ]
    assert "Cy: The inn burned." not in view.context("Who has bellows?", about=BEN)
    assert view.context(about="Cy Dale").splitlines()[-2:] == [
        "- day 1, 5:00 AM: Ada and Cy talked of rain.",
        "- day 1, 2:10 PM: Cy: The inn burned.",
    ]


def test_a_context_selects_by_query_when_room_is_short(view: MemoryView) -> None:
    asked = view.context("torn bellows of the forge", tokens=45)
    assert "The bellows of the forge are torn." in asked
    assert "Cy: The inn burned." not in asked
    assert "The bellows of the forge are torn." not in view.context(tokens=45)


@pytest.mark.parametrize("query", ["", "bellows"])
def test_a_context_includes_the_first_minute(query: str) -> None:
    context = view_of(stream_of(seen("The bellows of the forge are torn.", 0))).context(query)
    assert context == "- day 1, 12:00 AM: The bellows of the forge are torn."


@given(st.integers(1, 200), st.sampled_from(["", "bellows"]), st.text(max_size=400))
def test_a_context_never_exceeds_its_room(tokens: int, query: str, summary: str) -> None:
    stream = stream_of(*DAY, seen("one two three\nfour " * 20, 950), seen("The bellows of the forge are torn.", 960))
    stream.head.summary = summary
    context = view_of(stream).context(query, tokens=tokens)
    assert estimate_tokens(context) <= tokens
    lines = context.splitlines()
    shown = [line.partition(": ")[2] for line in lines if line.startswith("- ")]
    whole = {" ".join(entry.text.split()) for entry in stream.live()}
    assert set(shown) <= whole, "each in full"
    assert len(shown) == len(set(shown)), "once"

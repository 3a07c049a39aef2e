"""A day of one owner's memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cogitate.memory.entry import Entry, PlanItem
from cogitate.memory.stream import Stream
from tests.unit.memory.view.view_case import ADA, BEN, CY


def stream_of(*entries: Entry) -> Stream:
    stream = Stream(ADA)
    for number, entry in enumerate(entries, start=1):
        stream.append(entry, number)
    return stream


def seen(text: str, minute: int, *subjects: str, **fields: Any) -> Entry:
    return Entry(
        **{"type": "observation", "text": text, "minute": minute, "subjects": subjects, "importance": 3} | fields
    )


def said(text: str, minute: int, *subjects: str) -> Entry:
    return seen(text, minute, *subjects, type="message", source="dialogue")


ITEMS = (
    PlanItem(id="1-0", description="Light the forge", minute=420),
    PlanItem(id="1-1", description="Mend the bellows", minute=900, location="inn"),
    PlanItem(id="1-2", description="Have supper", minute=1_080),
    PlanItem(id="1-3", description="Go to bed", minute=1_320),
)
PLAN = Entry(type="plan", text="Plan for day 1.", minute=360, importance=6, items=ITEMS, valid_until=1_800)
DAY = (
    seen("The bellows of the forge are torn.", 480, importance=6),
    PLAN,
    said("Ben: Lend me a hammer.", 600, BEN, ADA),
    said("Ada: Take this one.", 605, ADA, BEN),
    seen("Ben Cole lent a pair of bellows.", 840, BEN, importance=8),
    said("Cy: The inn burned.", 850, CY, ADA),
    Entry(type="reflection", text="Ben can be relied on.", minute=900, subjects=(BEN,), evidence=(3, 5), importance=6),
    Entry(
        type="summary", text="Ada and Cy talked of rain.", minute=300, subjects=(CY,), source="dialogue", importance=4
    ),
)


def numbers(entries: Sequence[Entry]) -> list[int]:
    return [entry.number for entry in entries]

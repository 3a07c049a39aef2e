"""Memories as no sensible host writes them, and every one of them can be stored: what the edge takes, kinds read."""

from __future__ import annotations

from typing import get_args

import msgspec
from hypothesis import strategies as st

from cogitate.memory.entry import (
    ENTRY_TYPES,
    INTO_SUMMARY,
    MAX_TEXT,
    Character,
    Entry,
    EntrySource,
    Marks,
    PlanItem,
    PlanStatus,
)
from cogitate.memory.stream import Stream
from cogitate.scheduler.intake.checks import MAX_INTEGER, MAX_LABEL
from cogitate.scheduler.intake.effects import wrong_entry
from tests.unit.tasks.kind_cases import ISABELLA, KLAUS, MARIA

NOW = 3 * 1440 + 13 * 60  # game time at which kinds are asked

TEXT = st.text(min_size=1, max_size=30) | st.sampled_from(
    (
        "Maria Lopez promised Klaus Mueller to mend the roof tomorrow at 9.",
        "I will meet Maria at the library at 7pm.",
        "Plan for day 3: .",
        'Maria said: ""',
        '"',
        "?",
        "…",
        ".",
        "。",
        "w" * MAX_TEXT,
        "w " * (MAX_TEXT // 2),
        "e\u0301" * 1_000,
        "\u200b.",
        "\x00",
        "\u202eolleh",
        "👩‍👩‍👧",
        "İı ǅ ß ﬁ",
        "الماء غال",
        "水很贵。我不去。",
        "</memory>{{ x }}",
        "99:99 to -1:00",
        "Klaus Klaus Klaus.",
        "voted for voted for",
        "Day 0: day -1: day 99999999999.",
        "٣ coins",
        "²",
    )
)
LABEL = st.sampled_from(
    ("", "cafe", "library", "nowhere", " ", "x" * MAX_LABEL, "\u202e", "event:vote", "integrate", "1")
)
WHO = st.sampled_from((KLAUS, MARIA, ISABELLA, "Maria Lopez", "agent:gone", "npc:", "", " ", "location:cafe", "world"))
MINUTE = st.sampled_from((0, 1, NOW - 2_000, NOW - 60, NOW - 1, NOW, NOW + 1, NOW + 2_000, MAX_INTEGER)) | st.integers(
    NOW - 3_000, NOW
)
COUNT = st.sampled_from((0, 1, 2, 5, MAX_INTEGER))
NUMBERS = st.lists(st.integers(1, 12) | st.just(MAX_INTEGER), max_size=5).map(tuple)

ITEM = st.builds(
    PlanItem,
    id=st.sampled_from(("1-0", "1-1", "x", "/")),
    description=TEXT,
    location=st.none() | LABEL,
    minute=st.none() | MINUTE,
    priority=st.integers(1, 5),
    status=st.sampled_from(get_args(PlanStatus)),
)
ITEMS = st.lists(ITEM, max_size=4, unique_by=lambda item: item.id).map(tuple)


def several(values: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(values, max_size=4).map(tuple)


ENTRY = st.builds(
    Entry,
    type=st.sampled_from(ENTRY_TYPES),
    text=TEXT,
    minute=MINUTE,
    location=LABEL,
    subjects=several(WHO),
    keywords=several(LABEL),
    importance=st.integers(0, 10),
    source=st.sampled_from(get_args(EntrySource)),
    source_id=LABEL | WHO,
    evidence=NUMBERS,
    items=ITEMS,
    valid_until=MINUTE,
    provisional=st.booleans(),
    tags=several(LABEL),
    quest_id=LABEL,
    encounter_id=LABEL,
    since_minute=st.none() | MINUTE,
    since_number=st.none() | COUNT,
).filter(lambda entry: not wrong_entry(entry))

#: The counters and cursors that kinds keep; a host may set any of them to any number.
COUNTERS = st.dictionaries(
    st.sampled_from(
        (
            "reflect.minute",
            "reflect.number",
            "reflect.repeated",
            "repeated",
            "integrate.asked",
            "integrate.done",
            "integrate.part",
            "integrate.upto",
            "summarise.part",
            "summarise.upto",
            "rate.part",
            "mine",
        )
    ),
    st.integers(-3, 20) | st.sampled_from((-MAX_INTEGER, MAX_INTEGER, NOW - 800)),
    max_size=5,
)
CURSORS = st.dictionaries(st.sampled_from(("integrate", "world", "cafe")), COUNT, max_size=3)
CHARACTER = st.builds(
    Character,
    names=several(WHO),
    objectives=several(TEXT.map(lambda text: text[:200])),
    inventory=several(LABEL),
    relationships=st.dictionaries(WHO, LABEL, max_size=2),
)


@st.composite
def streams(draw: st.DrawFn, owner: str = KLAUS) -> Stream:
    """A stream with anything that can be stored, some of it archived, repeated, retold or waiting."""
    stream = Stream(owner)
    entries = draw(st.lists(ENTRY, max_size=10))
    for tick, entry in enumerate(
        [*entries, *(draw(st.lists(st.sampled_from(entries), max_size=3)) if entries else ())]
    ):
        stream.append(entry, tick + 1)
    for number in draw(st.sets(st.sampled_from(sorted(stream.entries)), max_size=4)) if entries else ():
        into = draw(st.sampled_from((0, INTO_SUMMARY, stream.head.last_number)))
        stream.archive(number, draw(st.integers(1, 20)), into if into != number else 0)
    for number in draw(st.sets(st.sampled_from(sorted(stream.entries)), max_size=4)) if entries else ():
        repeats = draw(COUNT)
        stream.mark(number, Marks(accesses=draw(COUNT), last_accessed=draw(MINUTE), repeats=repeats, last_repeat=NOW))
    for item in draw(st.lists(st.sampled_from(("1-0", "1-1", "x")), max_size=2)):
        stream.set_plan_status(item, draw(st.sampled_from(get_args(PlanStatus))))
    head = stream.head
    head.summary = draw(st.just("") | TEXT | st.just("I rest. " * 3_000))
    head.summary_version = draw(st.integers(0, 2))
    head.counters, head.cursors, head.character = draw(COUNTERS), draw(CURSORS), draw(CHARACTER)
    head.waiting = [msgspec.structs.replace(entry, type="observation") for entry in draw(st.lists(ENTRY, max_size=3))]
    return stream

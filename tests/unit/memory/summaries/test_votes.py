"""A vote of many, told from the side of one of them."""

from __future__ import annotations

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.summaries.votes import OwnVotes

DECISION = "The council voted 4 to 1 to dig the well."
EVENT = ("event:ballot_completed",)


def seen(number: int, text: str, minute: int = 0, *, tags: tuple[str, ...] = (), place: str = "hall") -> Entry:
    return Entry(number=number, type="observation", text=text, minute=minute, location=place, tags=tags)


def told(*remembered: str, decision: str = DECISION, name: str = "Ada Pike") -> str:
    last = seen(100, decision, 10)
    return OwnVotes(name, [*(seen(n, text) for n, text in enumerate(remembered, 1)), last]).told(last)


@pytest.mark.parametrize(
    ("remembered", "side"),
    [
        ("Ada Pike voted to dig the well.", "Ada Pike voted to dig the well, as the council did, 4 to 1."),
        ("I voted to dig the well.", "Ada Pike voted to dig the well, as the council did, 4 to 1."),
        ("Ada Pike voted to wait.", "Ada Pike voted to wait, but the council voted 4 to 1 to dig the well."),
        ("I voted against it.", "Ada Pike voted against it, but the council voted 4 to 1 to dig the well."),
        ("I voted for the motion.", "Ada Pike voted for the motion, and the council voted 4 to 1 to dig the well."),
        ("I proposed to dig the well.", "Ada Pike proposed to dig the well, and the council voted 4 to 1 for it."),
        ("Ada Pike proposed to wait.", "Ada Pike proposed to wait, but the council voted 4 to 1 to dig the well."),
        ("Bo voted to dig the well.", "The council voted 4 to 1 to dig the well."),
        ("Ada Pike votes to dig the well.", "The council voted 4 to 1 to dig the well."),
    ],
)
def test_a_decision_is_told_by_its_owners_act(remembered: str, side: str) -> None:
    assert told(remembered) == side


def test_all_agree_and_some_do_not_count() -> None:
    own = "Ada Pike voted to dig the well."
    assert told(own, decision="The council voted 5 to 0 to dig the well.").endswith("well, as did all of the council.")
    assert told(own, decision="Our crew voted to dig the well.").endswith("dig the well, as our crew did.")


def test_only_a_decision_is_told_as_one() -> None:
    assert told(decision="The council met.") == ""
    line = Entry(number=9, type="message", text=DECISION, minute=10, location="hall")
    assert OwnVotes("Ada Pike", [line]).told(line) == ""


def label(text: str, topic: str) -> str:
    return f"Voting confirmed by somebody on {topic}: {text}"


def test_a_repeated_vote_shows_changed_sides() -> None:
    entries = [
        seen(1, label("Ada Pike voted to wait.", "the well"), 0, tags=EVENT),
        seen(2, label("The council voted 3 to 2 to wait.", "the well"), 1, tags=EVENT),
        seen(3, label("Ada Pike voted to sell it.", "the mill"), 2, tags=EVENT),
        seen(4, label("Ada Pike voted to dig the well.", "the well"), 3, tags=EVENT),
        seen(5, label(DECISION, "the well"), 4, tags=EVENT),
    ]
    votes = OwnVotes("Ada Pike", entries)
    assert votes.told(entries[1]) == "Ada Pike voted to wait, as the council did, 3 to 2."
    assert votes.told(entries[4]) == "Ada Pike changed sides and voted to dig the well, as the council did, 4 to 1."


def test_statements_on_a_topic_precede_its_vote() -> None:
    said = Entry(
        number=1,
        type="message",
        text="Ada Pike discussed the well: It is dry.",
        minute=0,
        location="hall",
        source="dialogue",
        tags=("event:discussion_statement",),
    )
    decided = seen(2, label(DECISION, "the well"), 5, tags=EVENT)
    assert OwnVotes("Ada Pike", [said, decided]).told(decided) == (
        "Ada Pike spoke before the council voted 4 to 1 to dig the well."
    )
    assert OwnVotes("Bo", [said, decided]).told(decided) == "The council voted 4 to 1 to dig the well."


def test_a_vote_of_another_place_day_or_decision_is_not_taken_for_it() -> None:
    own = "Ada Pike voted to wait."
    decided = seen(9, DECISION, 2 * DAY)
    bare = "The council voted 4 to 1 to dig the well."
    for other in (
        [seen(1, own, 2 * DAY, place="inn")],
        [seen(1, own, DAY - 1)],
        [seen(1, own, DAY + 5), seen(2, "The council voted 3 to 2 to wait.", DAY + 6)],
        [seen(10, own, 2 * DAY)],
    ):
        assert OwnVotes("Ada Pike", [*other, decided]).told(decided) == bare
    assert OwnVotes("Ada Pike", [seen(1, own, DAY), decided]).told(decided) != bare

"""Statements and events that were routed, retold in English."""

from __future__ import annotations

import msgspec
import pytest

from cogitate.memory.entry import Entry, EntryType
from cogitate.memory.language.times import anchor_days
from cogitate.memory.routing.routing import Event, Routing, Style, route
from cogitate.memory.summaries.conversations import parse_line, shown_line, summarise_entries
from cogitate.memory.summaries.statements import news_of, statement_of, told_apart

ALICE = "agent:alice"
NAMES = {ALICE: "Alice Adams", "npc:tom": "Tom"}


def stated(style: Style = "narrative", **fields: str) -> Entry:
    event = Event(kind="discussion_statement", speaker=ALICE, name="Alice Adams", **fields)
    return route(event, minute=600, routing=Routing(style=style)).entry


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": "The bridge first."}, "The bridge first."),
        ({"text": "The bridge first.", "topic": "the money"}, "The bridge first."),
        (
            {"text": "The bridge first.", "reasoning": "It is cracked.", "certainty": "high"},
            "The bridge first. It is cracked.",
        ),
        ({"topic": "the money", "reasoning": "It is cracked."}, "It is cracked."),
        ({"text": "I am for it: it is fair."}, "I am for it: it is fair."),
        ({"text": 'It is "fair"', "reasoning": "It is cracked."}, 'It is "fair" It is cracked.'),
        ({"text": "先修桥。", "reasoning": "桥裂了。"}, "先修桥。 桥裂了。"),
        ({"text": "पुल पहले।", "reasoning": "वह टूटा है।"}, "पुल पहले। वह टूटा है।"),
        ({"text": "الجسر أولا؟", "reasoning": "إنه متصدع.", "certainty": "high"}, "الجسر أولا؟ إنه متصدع."),
        ({"text": "ซ่อมสะพานก่อน", "reasoning": "มันร้าว"}, "ซ่อมสะพานก่อน มันร้าว"),
    ],
)
@pytest.mark.parametrize("style", ["narrative", "structured"])
def test_a_statement_is_its_speakers_text(style: Style, fields: dict[str, str], said: str) -> None:
    told = parse_line(stated(style, **fields), NAMES)
    assert (told.speaker, told.text) == ("Alice Adams", said)


def test_a_prompt_shows_a_statement_as_routed() -> None:
    entry = stated(topic="the money", text="The bridge first.", certainty="high")
    assert shown_line(entry, NAMES)[:2] == ("", "Alice Adams discussed the money: The bridge first. Certainty: high.")


@pytest.mark.parametrize("mark", [".", "!", "?", "…"])
def test_each_part_of_a_structured_statement_is_a_sentence(mark: str) -> None:
    entry = stated("structured", text="The bridge first", reasoning=f"It is cracked{mark}")
    assert parse_line(entry, NAMES).text == f"The bridge first. It is cracked{mark}"


@pytest.mark.parametrize("style", ["narrative", "structured"])
def test_statements_are_retold_without_the_labels_of_their_form(style: Style) -> None:
    entries = [
        stated(
            style,
            topic="the mill",
            text="We should mend the wheel of the old mine before Monday.",
            reasoning="It cost 40 silver.",
            certainty="high",
        ),
    ]
    text = summarise_entries(entries, NAMES)
    assert "wheel of the old mine before Monday" in text
    assert not any(label in text for label in ("discussed", "Reasoning", "reasoning", "Certainty", "Speaker", "|"))


def test_a_vote_with_its_count_needs_no_label() -> None:
    won = Event(kind="ballot_completed", topic="the floor", text="The crew voted 4 to 1 to mop it.", consensus=True)
    counted = route(won, minute=1).entry
    assert told_apart(counted) == "The crew voted 4 to 1 to mop it."
    bare = route(won.model_copy(update={"text": "Floor won."}), minute=1).entry
    assert told_apart(bare) == bare.text == "Ballot completed with consensus on the floor: Floor won."


def test_the_parts_of_an_event_are_labelled() -> None:
    paid = Event(kind="final_results", topic="the \\1 floor", text="It won.", earnings=9, counterfactuals={"not": 3})
    entry = route(paid, minute=1).entry
    assert (
        parse_line(entry, {}).text
        == told_apart(entry)
        == "Final results on the \\1 floor: It won. Earnings on the \\1 floor were 9. "
        "Otherwise on the \\1 floor: not 3."
    )
    assert shown_line(entry, {}).text == entry.text, "prompts show it as it was"
    begun = route(Event(kind="voting_initiated", name="Bob", speaker="Bob"), minute=1).entry
    assert told_apart(begun) == begun.text


def test_an_event_may_have_other_tags_too() -> None:
    event = Event(kind="final_results", topic="the floor", text="It won.", earnings=9)
    entry = route(event, minute=1).entry
    for tags in (("vote", *entry.tags), (*entry.tags, "vote")):
        assert told_apart(msgspec.structs.replace(entry, tags=tags)) == told_apart(entry) != entry.text
    assert told_apart(msgspec.structs.replace(entry, tags=("vote",))) == entry.text


def test_news_has_no_label() -> None:
    ballot = route(Event(kind="ballot_completed", consensus=True, text="The floor won."), minute=1).entry
    assert news_of(ballot) == "The floor won."
    told = Event(kind="final_results", text="磨坊赢了", reasoning="It is old", certainty="0.9", earnings=9)
    assert news_of(route(told, minute=1).entry) == "磨坊赢了。 It is old. Earnings: 9."
    begun = route(Event(kind="voting_initiated", name="Bob", speaker="Bob"), minute=1).entry
    assert news_of(begun) == "Voting initiated by Bob."
    told = Event(kind="ballot_completed", consensus=True, text="The floor won.")
    structured = route(told, minute=1, routing=Routing(style="structured")).entry
    assert news_of(structured) == structured.text, "its parts are labels"


def test_a_line_outside_an_event_is_shown_with_its_speaker() -> None:
    said = Entry(type="message", text="It is late: the mill burned.", minute=1, subjects=(ALICE,))
    assert shown_line(said, NAMES) == parse_line(said, NAMES)
    assert shown_line(said, NAMES).speaker == "Alice Adams"
    assert news_of(Entry(type="observation", text="Ann: a name on a door.", minute=1)) == "Ann: a name on a door."


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I will come tomorrow morning.", "I will come on the morning of day 2."),
        ("I will pay by tomorrow evening.", "I will pay by the evening of day 2."),
        ("Do it before tomorrow.", "Do it before day 2."),
        ("I will sing tonight.", "I will sing on the evening of day 1."),
        ("Tomorrow night we dance.", "on the night of day 2 we dance."),
    ],
)
def test_days_and_their_parts_are_anchored(said: str, told: str) -> None:
    assert anchor_days(said, 600) == told


def test_an_event_other_than_a_statement_is_told_completely() -> None:
    seen = Entry(
        type="observation",
        text="Alice Adams proposed the floor: it is fair.",
        minute=1,
        subjects=(ALICE,),
        source="social",
        tags=("event:proposal",),
    )
    assert parse_line(seen, NAMES)[:2] == ("", seen.text)


def routed(kind: EntryType, text: str, *tags: str) -> Entry:
    return Entry(type=kind, text=text, minute=1, subjects=(ALICE,), source="social", tags=tags)


def test_a_statement_is_read_from_its_form(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str | None]] = [
        ("Alice Adams discussed the floor. Reasoning: It is fair.", "It is fair."),
        ("Alice Adams discussed the floor. Certainty: high.", None),  # she said nothing
        ("Alice Adams discussed the floor", None),
        ("Alice Adams discussed the floor:  ", None),
        ("Alice Adams discussed the floor: Yes: no. Certainty: high.", "Yes: no."),
        ("Bob Bell discussed the floor: Yes.", None),
        ("Speaker: Bob | Topic: the floor", None),
        ("Speaker: Bob | Statement: Yes | Reasoning: Why not?", "Yes. Why not?"),
    ]
    for text, said in cases:
        with subtests.test(text=text):
            found = statement_of(routed("message", text, "event:discussion_statement"), "Alice Adams")
            assert (found and found.text) == said


@pytest.mark.parametrize(
    ("kind", "text", "news", "apart"),
    [
        (
            "observation",
            "Ballot on the floor: Oak won. Earnings: 9.",
            "Oak won. Earnings: 9.",
            "Ballot on the floor: Oak won. Earnings on the floor were 9.",
        ),
        ("observation", "Ballot: Oak won. Earnings: 9.", "Oak won. Earnings: 9.", "Ballot: Oak won. Earnings: 9."),
        (
            "observation",
            "Ballot on the floor: oak won.",
            "Ballot on the floor: oak won.",
            "Ballot on the floor: oak won.",
        ),
        ("observation", "Ballot on the floor", "Ballot on the floor", "Ballot on the floor"),
        ("observation", "Event: Oak won.", "Event: Oak won.", "Event: Oak won."),
        (
            "message",
            "Alice discussed the floor: Yes. Earnings: 9.",
            "Alice discussed the floor: Yes. Earnings: 9.",
            "Alice discussed the floor: Yes. Earnings: 9.",
        ),
        (
            "message",
            "Alice spoke on the floor: Yes. Earnings: 9.",
            "Alice spoke on the floor: Yes. Earnings: 9.",
            "Alice spoke on the floor: Yes. Earnings: 9.",
        ),
    ],
)
def test_an_event_has_news_behind_its_label(kind: EntryType, text: str, news: str, apart: str) -> None:
    entry = routed(kind, text, "event:ballot_completed")
    assert (news_of(entry), told_apart(entry)) == (news, apart)
    plain = routed(kind, text)
    assert (news_of(plain), told_apart(plain)) == (text, text), "it is no event"

"""Where events go, in which words, and what is kept in full."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from cogitate.memory.entry import MAX_TEXT
from cogitate.memory.errors import InputError
from cogitate.memory.language.truncation import Truncation
from cogitate.memory.routing.routing import RULES, Event, EventRule, Routing, route

FLOOR = "I believe we should maximize the floor because it protects vulnerable members."


def routed(kind: str, routing: Routing | None = None, **fields: Any) -> tuple[str, str]:
    """The text and the strategy of an event."""
    entry, strategy = route(Event(kind=kind, **fields), minute=60, routing=routing)
    return entry.text, strategy


def test_each_event_type_is_routed_as_the_diagram_says(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("discussion_statement", {"speaker": "Alice", "text": FLOOR}, "simple"),
        ("voting_initiated", {}, "simple"),
        ("voting_confirmed", {}, "simple"),
        ("ballot_completed", {"consensus": False}, "simple"),
        ("ballot_completed", {}, "simple"),
        ("ballot_completed", {"consensus": True}, "integrate"),
        ("final_results", {"text": "Consensus on Floor.", "earnings": 24_000}, "integrate"),
        ("final_results", {"text": "No consensus.", "consensus": False}, "integrate"),
    ]
    for kind, fields, strategy in cases:
        with subtests.test(kind=kind):
            entry, chosen = route(Event(kind=kind, **fields), minute=60)
            assert chosen == strategy
            assert ("integrate" in entry.tags) == (strategy == "integrate")
            assert f"event:{kind}" in entry.tags


def test_a_statement_in_narrative_style() -> None:
    text, _ = routed("discussion_statement", speaker="agent:alice", name="Alice", topic="the floor", text=FLOOR)
    assert text == f"Alice discussed the floor: {FLOOR}"


def test_a_statement_with_reasoning_in_narrative_style() -> None:
    text, _ = routed("discussion_statement", speaker="Alice", topic="the floor", reasoning="it protects the weak")
    assert text == "Alice discussed the floor. Reasoning: it protects the weak."


def test_a_statement_without_a_speaker_is_told_by_its_type() -> None:
    assert routed("discussion_statement", topic="the floor", text="So it is.")[0] == (
        "Discussion statement on the floor: So it is."
    )


def test_a_statement_in_structured_style() -> None:
    text, _ = routed(
        "discussion_statement",
        Routing(style="structured"),
        speaker="agent:Alice",
        topic="Floor maximization",
        reasoning="Protecting vulnerable",
        certainty="High",
    )
    assert text == "Speaker: Alice | Topic: Floor maximization | Reasoning: Protecting vulnerable | Certainty: High"


def test_a_speakers_text_cannot_add_structured_parts() -> None:
    text, _ = routed("discussion_statement", Routing(style="structured"), speaker="Mallory", text="x | Speaker: Alice")
    assert text == "Speaker: Mallory | Statement: x / Speaker: Alice"


def test_voting_events_are_told_by_type() -> None:
    assert routed("voting_initiated", speaker="agent:Alice")[0] == "Voting initiated by Alice."
    assert routed("voting_initiated", speaker="agent:Alice", topic="the floor")[0] == (
        "Voting initiated by Alice on the floor."
    )
    assert routed("voting_confirmed", topic="the floor")[0] == "Voting confirmed on the floor."
    assert routed("voting_confirmed")[0] == "Voting confirmed."
    assert routed("ballot_completed", consensus=False)[0] == "Ballot completed without consensus."
    assert routed("ballot_completed", consensus=True, text="Floor won")[0] == (
        "Ballot completed with consensus: Floor won."
    )
    assert routed("ballot_completed", Routing(style="structured"), consensus=True)[0] == (
        "Event: Ballot completed | Consensus: yes"
    )
    assert routed("ballot_completed", Routing(style="structured"), consensus=False, text="Floor lost")[0] == (
        "Event: Ballot completed | Consensus: no | Text: Floor lost"
    )


@pytest.mark.parametrize("enabled", [True, False])
def test_results_are_preserved_in_full_with_earnings_and_counterfactuals(enabled: bool) -> None:
    told = "Consensus reached on Maximizing Floor. " * 30
    text, _ = routed(
        "final_results",
        Routing(truncation=Truncation(enabled=enabled)),
        text=told.strip(),
        earnings="$24,000",
        counterfactuals={"Avg": "$24k", "Avg+Floor": 25_000, "Avg+Range": "$23k"},
    )
    assert text == (
        f"Final results: {told.strip()} Earnings: $24,000. Otherwise: Avg $24k; Avg+Floor 25,000; Avg+Range $23k."
    )


def test_a_statement_is_cut_to_300_and_reasoning_to_200_characters() -> None:
    text, _ = routed("discussion_statement", speaker="Alice", text="word " * 100, reasoning="why " * 100)
    said, _, why = text.removeprefix("Alice discussed: ").partition(" Reasoning: ")
    assert len(said) == 297
    assert said.endswith("word word...")
    assert len(why) <= 200
    assert why.endswith("why...")


def test_truncation_switched_off_keeps_all_that_an_entry_can_hold() -> None:
    text, _ = routed(
        "discussion_statement", Routing(truncation=Truncation(enabled=False)), speaker="A", text="w " * 900
    )
    assert len(text) > 1_700


def test_custom_event_types_follow_their_rules() -> None:
    routing = Routing().with_types({"quest_found": "integrate", "sneeze": "simple", "shout": EventRule(verb="shouted")})
    assert routed("quest_found", routing, text="The map is old.") == ("Quest found: The map is old.", "integrate")
    assert routed("sneeze", routing)[1] == "simple"
    assert routed("shout", routing, speaker="Bob", text="Hey!")[0] == "Bob shouted: Hey!"
    assert set(RULES) <= set(routing.rules)


def test_an_event_type_without_a_rule_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'quest_lost'.*ballot_completed, discussion_statement"):
        routed("quest_lost")
    with pytest.raises(InputError, match="loudness 3: Extra inputs"):
        Event(kind="sneeze", loudness=3)  # type: ignore[call-arg]  # the point of the test


def test_a_statement_becomes_dialogue_with_its_metadata() -> None:
    event = Event(
        kind="discussion_statement", speaker="agent:alice", text=FLOOR, round=3, location="hall", group="group:one"
    )
    entry, _ = route(event, minute=75)
    assert (entry.type, entry.source, entry.subjects, entry.minute) == ("message", "dialogue", ("agent:alice",), 75)
    assert (entry.location, entry.source_id) == ("hall", "group:one")
    assert entry.tags == ("event:discussion_statement", "round:3")


def test_a_whole_experiment_stays_below_20000_characters_an_agent() -> None:
    statement = "I believe we should maximize the floor because it protects the most vulnerable of us. " * 6
    event = Event(kind="discussion_statement", speaker="Speaker 1", topic="", text=statement)
    texts = [route(event, minute=minute).entry.text for minute in range(7 * 8)]  # seven rounds of eight agents
    assert 16_000 < sum(map(len, texts)) < 20_000


def test_routing_is_pure_and_unicode_safe() -> None:
    event = Event(kind="discussion_statement", speaker="Зоя", topic="пол", text="Мы должны защитить слабых. " * 40)
    assert route(event, minute=1) == route(event, minute=1)
    text = route(event, minute=1).entry.text
    assert text.startswith("Зоя discussed пол: Мы должны")
    assert len(text) < MAX_TEXT


def test_an_event_has_a_maximum_length(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, Any]] = [
        ("kind", "x" * 100),
        ("text", "x" * 20_000),
        ("speaker", "x" * 200),
        ("name", "x" * 200),
        ("topic", "x" * 500),
        ("reasoning", "x" * 20_000),
        ("certainty", "x" * 100),
        ("earnings", "x" * 200),
        ("round", 10**15),
        ("location", "x" * 500),
        ("group", "x" * 200),
        ("subjects", ["x"] * 1_000),
        ("subjects", ["x" * 200]),
        ("counterfactuals", {str(n): 1 for n in range(100)}),
        ("counterfactuals", {"x" * 200: 1}),
    ]
    for field, most in cases:
        with subtests.test(field=field):
            Event(**{"kind": "sneeze", field: most})
            match most:
                case str():
                    more: Any = most + "x"
                case int():
                    more = most + 1
                case list():
                    more = [*most, "x"] if len(most) > 1 else [most[0] + "x"]
                case dict() if len(most) > 1:
                    more = most | {"x": 1}
                case _:
                    more = {key + "x": 1 for key in most}
            with pytest.raises(InputError, match=field):
                Event(**{"kind": "sneeze", field: more})


def test_whole_amounts_are_bounded_and_keep_their_digits() -> None:
    for amount in (10**15, -(10**15), 0.5, "$24,000"):
        kept = Event(kind="x", earnings=amount, counterfactuals={"floor": amount})
        assert (kept.earnings, kept.counterfactuals) == (amount, {"floor": amount})
        assert type(kept.earnings) is type(amount)
    for amount in (10**15 + 1, -(10**15) - 1, 10**400):
        with pytest.raises(InputError, match="earnings"):
            Event(kind="x", earnings=amount)
        with pytest.raises(InputError, match="counterfactuals"):
            Event(kind="x", counterfactuals={"floor": amount})


def test_an_event_requires_a_kind_and_defaults_the_other_fields() -> None:
    assert Event(kind="x", round=0).round == 0
    for wrong in ({"kind": ""}, {"kind": "x", "round": -1}):
        with pytest.raises(InputError):
            Event(**wrong)
    event = Event(kind="x")
    assert event.model_dump() == {
        "kind": "x",
        "text": "",
        "speaker": "",
        "name": "",
        "topic": "",
        "reasoning": "",
        "certainty": "",
        "consensus": None,
        "earnings": None,
        "counterfactuals": {},
        "phase": "",
        "stage": "",
        "round": None,
        "location": "",
        "subjects": (),
        "group": "",
    }


@pytest.mark.parametrize("speaker", ["", "agent:bob"])
def test_only_statements_are_dialogue(speaker: str) -> None:
    entry, _ = route(Event(kind="voting_initiated", speaker=speaker), minute=60)
    assert (entry.type, entry.source) == ("observation", "social")
    stated, _ = route(Event(kind="discussion_statement", speaker=speaker, text="So it is."), minute=60)
    assert (stated.type == "message") is bool(speaker)


def test_an_event_is_unchanged_after_its_check() -> None:
    event = Event(kind="sneeze", earnings=1.5)
    with pytest.raises(ValidationError, match="frozen"):
        event.text = "x"  # type: ignore[misc]  # the point of the test
    for amount in (float("nan"), float("inf")):
        with pytest.raises(InputError, match="earnings"):
            Event(kind="sneeze", earnings=amount)


def test_an_entry_holds_every_known_part_of_its_event() -> None:
    rules = {**RULES, "toast": EventRule(importance=8), "vote": EventRule(with_consensus="integrate")}
    event = Event(
        kind="toast", text="Cheers.", speaker="a", subjects=("b", "", "a", "c"), group="group:g", location="inn"
    )
    entry, strategy = route(event, minute=60, routing=Routing(rules=rules))
    assert (entry.importance, entry.subjects, entry.source_id, entry.location) == (8, ("a", "b", "c"), "group:g", "inn")
    assert (entry.source, strategy) == ("social", "simple")
    nobody = route(Event(kind="toast", text="Cheers.", subjects=("b",)), minute=60, routing=Routing(rules=rules))
    assert nobody.entry.subjects == ("b",)
    for consensus, wanted in ((True, "integrate"), (False, "simple"), (None, "simple")):
        voted = Event(kind="vote", consensus=consensus)
        assert route(voted, minute=60, routing=Routing(rules=rules)).strategy == wanted
    agreed = route(Event(kind="toast", consensus=True), minute=60, routing=Routing(rules=rules))
    assert agreed.strategy == "simple", "its rule knows no consensus"


def test_the_importance_of_each_event_of_the_design() -> None:
    rated = {kind: route(Event(kind=kind), minute=1).entry.importance for kind in RULES}
    assert {kind: rating for kind, rating in rated.items() if rating} == {"ballot_completed": 7, "final_results": 8}

"""The parts of a raw statement, by rule and by a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError
from cogitate.memory.routing.routing import Event, Routing, route
from cogitate.memory.routing.statement_parts import Parts, parts_of
from cogitate.tasks.recall import stage_of

FLOOR = "I believe we should maximize the floor because it protects vulnerable members."


@pytest.mark.parametrize(
    ("statement", "parts"),
    [
        (FLOOR, Parts("maximize the floor", "it protects vulnerable members", "medium")),
        ("Maybe we should wait. The bridge is old.", Parts("wait", "The bridge is old", "low")),
        ("We must mend the arch, since ice will break it. Soon.", Parts("mend the arch", "ice will break it", "high")),
        (
            "We wait. The bridge is old. It may break. So.",
            Parts("We wait", "The bridge is old. It may break. So", "medium"),
        ),
        ("We wait because it is old. It may break.", Parts("We wait", "it is old", "medium")),
        ("Nothing changes!", Parts("Nothing changes", "", "medium")),
        ("", Parts("", "", "")),
    ],
)
def test_a_rule_finds_topic_reason_and_certainty(statement: str, parts: Parts) -> None:
    assert parts_of(statement) == parts


def test_a_models_answer_names_the_parts() -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return json.dumps({"topic": "Floor maximization", "reasoning": "Protecting vulnerable", "certainty": "High"})

    assert parts_of(FLOOR + " </statement>", ask) == Parts("Floor maximization", "Protecting vulnerable", "high")
    assert f"<statement>{FLOOR} ‹/statement></statement>" in asked[0]


@pytest.mark.parametrize("answer", ["", "not JSON", "[1]", "{}", '{"topic": 3, "certainty": "very"}'])
def test_the_rule_supplies_missing_parts(answer: str) -> None:
    assert parts_of(FLOOR, lambda prompt: answer) == parts_of(FLOOR)


def test_a_statement_becomes_an_event_in_the_structured_style() -> None:
    event = Event.of_statement(FLOOR, "agent:Alice", certainty="very high", round=2)
    text = route(event, minute=1, routing=Routing(style="structured")).entry.text
    assert text == (
        "Speaker: Alice | Topic: maximize the floor | Reasoning: it protects vulnerable members | "
        f"Certainty: very high | Statement: {FLOOR}"
    )
    with pytest.raises(InputError):
        Event.of_statement(FLOOR, round=-1)


def told(minute: int, number: int, **fields: object) -> Entry:
    event = Event(kind="voting_initiated", **fields)  # type: ignore[arg-type]
    entry = route(event, minute=minute).entry
    return Entry(type="observation", text=entry.text, minute=minute, number=number, tags=entry.tags)


def test_the_latest_event_gives_phase_stage_and_round() -> None:
    entries = [told(10, 1, phase="one", stage="talk", round=1), told(20, 2, phase="two", round=3), told(20, 3)]
    assert stage_of(entries, 25) == "phase two, round 3"
    assert stage_of(entries, 15) == "phase one, stage talk, round 1"
    assert [stage_of(entries, minute)[:9] for minute in (9, 10, 19, 20)] == ["", "phase one", "phase one", "phase two"]
    assert stage_of(entries, 20 + 1439) == "phase two, round 3"
    assert stage_of(entries, 20 + 1440) == "", "a day later it is over"
    assert stage_of([], 5) == ""


def test_a_topic_has_at_most_eight_words() -> None:
    ten = "one two three four five six seven eight nine ten"
    eight = "one two three four five six seven eight"
    assert parts_of(ten).topic == eight
    assert parts_of("Wait.", lambda prompt: json.dumps({"topic": ten})).topic == eight


def test_text_after_two_thousand_characters_is_ignored() -> None:
    assert parts_of("x" * 1_992 + " because no").reasoning == ""
    assert parts_of("x" * 1_989 + " because no").reasoning == "no"
    assert parts_of("x" * 1_989 + " because nothing").reasoning == "no"


def test_a_statement_without_a_topic_is_an_event_without_one() -> None:
    event = Event.of_statement("", "Alice")
    assert (event.topic, event.reasoning, event.certainty) == ("", "", "")
    assert event.model_fields_set == {"kind", "text", "speaker"}, "parts that were not found are not given"


def test_the_first_colon_of_a_stage_becomes_a_space() -> None:
    entry = Entry(type="observation", text="x", minute=5, tags=("phase:day:2", "x:y", "round:3"))
    assert stage_of([entry], 5) == "phase day:2, round 3"


@pytest.mark.parametrize("text", [None, 5, b"It is fair.", ["It is fair."], "\ud800"])
def test_a_statement_that_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(InputError, match="an event's text is"):
        Event.of_statement(text)

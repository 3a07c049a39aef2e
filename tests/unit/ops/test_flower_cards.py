"""All cards of Flower's first page together, and those of spenders and reflections."""

from __future__ import annotations

import msgspec

from cogitate.ops.flower.cards import cards_of, reflections_card, spenders_card
from cogitate.scheduler.inspection.overview import Spenders
from cogitate.scheduler.ledger.worker_signs import WorkersSeen
from cogitate.tasks.job import Cost
from tests.unit.ops.card_case import ENDPOINT, NO_SPENDERS, NOBODY, NOON, STEERING, graded, hour, run, window


def test_an_idle_run_has_no_red_card() -> None:
    fresh = run(hour=hour(), minute=0)
    assert {card.grade for card in cards_of(fresh, NO_SPENDERS, [], NOBODY)} <= {"", "good"}
    assert {card.grade for card in cards_of(run(asks_model=False), NO_SPENDERS, [], NOBODY)} <= {"", "good"}


def test_a_healthy_run_has_no_red_card() -> None:
    well = run(
        windows=[window("day:0", spent=1_000, limit=50_000), window(spent=1_000)],
        hour=hour(ends={"applied": 20}, sources={"llm": 19, "heuristic": 1}, reasons={"failed": 1}),
    )
    cards = cards_of(well, NO_SPENDERS, [ENDPOINT], WorkersSeen(alive=["one"], missing=[], kinds=[]))
    assert [card.name for card in cards] == [
        "money",
        "spenders",
        "late",
        "failing",
        "reflections",
        "model",
        "host",
        "workers",
    ]
    assert {card.grade for card in cards} <= {"", "good"}


def test_the_largest_spenders_are_named_with_amounts() -> None:
    owners = {
        "agent:ada": Cost(calls=3, tokens=2_000, usd_micros=40_000),
        "agent:ben": Cost(calls=1, tokens=700),
        "npc:cy": Cost(calls=2, usd_micros=900),
        "agent:dee": Cost(calls=1),
    }
    card = spenders_card(Spenders(since=NOON - 90, owners=owners))
    assert (card.label, card.value, card.grade) == ("Spent most since 10:30 AM", "ada", "")
    assert "2,000" in card.lines[0]
    assert [line.partition(":")[0] for line in card.lines[1:]] == ["then ben", "then npc"]
    assert "$0.0009" in card.lines[2]
    assert card.figures == {"tokens": 2_000, "usd_micros": 40_000}
    unknown = spenders_card(NO_SPENDERS)
    assert (unknown.value, unknown.lines) == ("no one", ["jobs count once they have ended"])


def test_reflections_say_how_much_they_are_throttled_by_whom_and_why() -> None:
    slow = msgspec.structs.replace(
        STEERING, cadence=0.25, interval=2_880, causes={"late": 40, "queue": 10}, pressing=("late",), waiting=7
    )
    card = reflections_card(run(steering=slow))
    assert graded(card) == ("25% of usual", "warn")
    assert card.lines == [
        "throttled; adjusted automatically",
        "slowed by late results 40%",
        "every 2,880 game minutes, usually every 720 game minutes",
        "agents that are due and wait: 7",
    ]
    stopped = reflections_card(run(steering=msgspec.structs.replace(slow, cadence=0.0, interval=None, pressing=())))
    assert (stopped.value, stopped.lines[1]) == ("0% of usual", "none are due, usually every 720 game minutes")
    assert graded(reflections_card(run())) == ("as usual", "")

"""The story: deterministic from its seed, continued from its dump, and told in whole sentences."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.routing.routing import RULES, Event
from cogitate.memory.routing.scopes import location_owner
from cogitate.simulation.story.company import QUESTS
from cogitate.simulation.story.council import CONSENSUS, MATTERS, session
from cogitate.simulation.story.days import WORKDAYS, day_of_story
from cogitate.simulation.story.people import COUNCILLORS, NAMES, OWNERS, PEOPLE, name
from cogitate.simulation.story.story import Story
from cogitate.simulation.story.tavern import EVENT_TYPES, TALK, reckoning
from cogitate.simulation.world import Heard, LocationLeft, NarratedWorld, Report, StoryEvent

SEEDS = range(12)
WHOLE = re.compile(r"[A-Z“\"].*[.!?”]", re.S)


def reports_of(seed: int, days: int) -> list[Report]:
    """Return everything that happens in the first days."""
    story = Story(seed)
    return [report for tick in range(days * DAY) for report in story.step(tick, tick)]


def texts() -> list[str]:
    """Return every text that somebody wrote for the story."""
    scenes = [scene for quest in QUESTS for scene in (*quest.scenes, *quest.endings)]
    return [
        *(
            part
            for matter in MATTERS
            for side in matter.sides
            for a in side.arguments
            for part in (a.text, a.reasoning)
        ),
        *(side.outcome for matter in MATTERS for side in matter.sides),
        *(matter.opening for matter in MATTERS),
        *(quest.task for quest in QUESTS),
        *(line for scene in scenes for _, line in scene.lines),
        *(letter.text for letter in TALK.letters),
        *(text for events in WORKDAYS.values() for text, _ in events),
        *(line.format(a="Maud", b="Rolf") for exchange in TALK.exchanges for line in exchange),
        *(part.format(b="Rolf", A="Maud Fenwick", B="Rolf Harding") for promise in TALK.promises for part in promise),
    ]


def test_the_story_is_a_narrated_world() -> None:
    assert isinstance(Story(), NarratedWorld)
    assert Story(minutes_per_tick=7).ticks_per_day == 206


def test_the_texts_are_whole_sentences_and_none_occurs_twice() -> None:
    written = texts()
    assert len(written) > 250
    assert [text for text in written if not WHOLE.fullmatch(text) or "  " in text] == []
    assert [text for text, count in Counter(written).items() if count > 1] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_every_vote_follows_from_the_arguments(seed: int) -> None:
    for day in range(len(MATTERS)):
        held = session(seed, day)
        for owner in COUNCILLORS:
            first = held.matter.sides[held.first[owner]]
            assert any(argument.speaker == owner for argument in first.arguments), "who argues for it votes for it"
        told = [r for _, r in held.reports if isinstance(r, Heard) and r.event.kind == "ballot_completed"]
        for heard, votes in zip(told, (held.first, held.final), strict=True):
            most = max(Counter(votes.values()).values())
            assert heard.event.consensus == (most >= CONSENSUS)
            assert f"voted {most} to {5 - most} to " in heard.event.text
        assert held.winner.motion in told[1].event.text


def test_votes_end_with_and_without_consensus_and_councillors_change_their_minds() -> None:
    held = [session(seed, day) for seed in SEEDS for day in range(7)]
    assert {max(Counter(one.final.values()).values()) for one in held} >= {3, 4, 5}
    assert any(one.first != one.final for one in held)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_week_names_only_known_owners_and_events(seed: int) -> None:
    reports = list(chain.from_iterable(chain.from_iterable(day_of_story(seed, d).reports.values()) for d in range(8)))
    kinds: set[str] = set()
    for report in reports:
        match report:
            case Heard(event, also):
                kinds.add(event.kind)
                assert {event.speaker, *event.subjects, *also} <= {*OWNERS, ""}
            case LocationLeft(location, present):
                assert location_owner(location) in OWNERS
                assert set(present) <= set(PEOPLE)
            case StoryEvent(kind):
                kinds.add(kind)
            case (owner, Event() as event):
                kinds.add(event.kind)
                assert owner in OWNERS
            case (owner, Entry() as entry):
                assert owner in OWNERS
                assert entry.location in {*NAMES, ""}
    assert kinds >= {
        *RULES,
        *EVENT_TYPES,
        "objective_completed",
        "quest_completed",
        "act_progressed",
        "encounter_completed",
        "location_cleared",
    }


def test_no_speaker_uses_the_third_person_for_himself() -> None:
    for report in reports_of(3, 8):
        if isinstance(report, tuple) and isinstance(report[1], Entry) and report[1].source == "dialogue":
            speaker, _, said = report[1].text.partition(": ")
            assert speaker not in said, report[1].text


def test_promises_are_kept_or_broken_on_the_next_day() -> None:
    kept: set[bool] = set()
    for day in range(1, 20):
        promise = day_of_story(0, day - 1).evening.promise
        told = reckoning(promise)
        kept.add(promise.kept)
        at = day_of_story(0, day).reports[told[0][0]]
        texts_then = [report[1].text for report in at if isinstance(report, tuple) and isinstance(report[1], Entry)]
        assert any(name(promise.giver) in text and name(promise.taker) in text for text in texts_then)
    assert kept == {True, False}


def test_a_story_continues_from_its_dump() -> None:
    whole = reports_of(2, 2)
    story = Story(2)
    first = [report for tick in range(1000) for report in story.step(tick, tick)]
    again = Story(2)
    again.load(story.dump())
    assert first + [report for tick in range(1000, 2 * DAY) for report in again.step(tick, tick)] == whole


def test_seeds_differ_and_a_foreign_dump_is_refused() -> None:
    assert reports_of(0, 1) != reports_of(1, 1)
    with pytest.raises(ValueError, match="seed 0, this one has seed 1"):
        Story(1).load(Story(0).dump())
    with pytest.raises(ValueError, match="not a dump of the story"):
        Story(1).load(b"{}")


def test_a_tick_of_any_length_brings_the_same() -> None:
    slow = Story(5, 30)
    coarse = [report for tick in range(48) for report in slow.step(tick, tick * 30)]
    fine = Story(5)
    assert coarse == [report for minute in range(47 * 30 + 1) for report in fine.step(minute, minute)]


def test_a_places_memories_are_told_in_one_line() -> None:
    story = Story(0)
    asked: list[tuple[str, tuple[str, ...]]] = []

    def ask(place: str, present: object) -> str:
        asked.append((place, tuple(present)))  # type: ignore[call-overload]
        return (
            "Recent Location Memory:\n- day 1, 8:00 AM: The door stood open.\n\nWorld Memory:\n- day 1, 9:00 AM: War."
        )

    story.step(0, 567)
    assert story.narrate(ask) is None
    story.step(0, 568)
    told = story.narrate(ask)
    assert [place for place, _ in asked] == ["hall"]
    assert told is not None
    assert [owner for owner, _ in told] == [*COUNCILLORS]  # type: ignore[misc]
    assert {entry.text for _, entry in told} == {  # type: ignore[misc]
        "The narrator recalled the moot hall on day 1, 8:00 AM: The door stood open."
    }

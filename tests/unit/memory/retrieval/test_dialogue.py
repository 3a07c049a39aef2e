"""Talk: neighbours, scenes, speakers, and how much a line says."""

from __future__ import annotations

import msgspec
import pytest

from cogitate.memory.entry import Entry
from cogitate.memory.language.meanings import rarity
from cogitate.memory.retrieval.measures import information, scene, speaker
from cogitate.memory.retrieval.retrieval import DIALOGUE, Component, Query, RetrievalProfile, retrieve
from tests.unit.memory.retrieval_case import memory, numbers, part

SCENE = RetrievalProfile(name="scene", components=(Component("scene", 1.0, scene),), distinct=False)
SPEAKER = RetrievalProfile(name="speaker", components=(Component("speaker", 1.0, speaker),), distinct=False)


def talk(*lines: tuple[str, str], scene: str = "one", first: int = 1) -> list[Entry]:
    return [
        memory(n, text, type="message", subjects=(f"agent:{who}",), source_id=scene)
        for n, (who, text) in enumerate(lines, start=first)
    ]


def test_an_answer_is_found_through_its_question() -> None:
    entries = talk(
        ("ann", "Good morning"),
        ("ann", "Did you visit the museum?"),
        ("bob", "Yes, with my sister"),
        ("ann", "Nice"),
        ("bob", "Bye"),
    )
    found = retrieve(entries, Query(minute=0, text="Who went to the museum with bob?", limit=1), DIALOGUE)
    assert numbers(found) == [3]
    found = retrieve(entries, Query(minute=0, text="Who went to the museum?"), DIALOGUE)
    around = {s.entry.number: part(s, "neighbours") for s in found}
    assert around == pytest.approx({1: 0.35, 2: 0, 3: 0.5 + 0.5, 4: 0.4, 5: 0})


def test_neighbours_end_with_their_scene() -> None:
    entries = talk(("ann", "the museum"), scene="one") + talk(("bob", "hello"), scene="two", first=2)
    found = {s.entry.number: s for s in retrieve(entries, Query(minute=0, text="museum"), DIALOGUE)}
    assert part(found[2], "neighbours") == 0


@pytest.mark.parametrize(("lines", "share"), [(4, 0), (8, 0.5), (12, 1), (20, 1)])
def test_a_scene_that_neighbours_reach_over_adds_nothing(lines: int, share: float) -> None:
    entries = talk(("ann", "the museum"), *[("bob", "hello")] * (lines - 1))
    entries += talk(("bob", "hello"), scene="two", first=lines + 1)
    found = {s.entry.number: s for s in retrieve(entries, Query(minute=0, text="museum", limit=30), SCENE)}
    assert part(found[1], "scene") == part(found[2], "scene") == pytest.approx(share / 3)
    assert part(found[lines + 1], "scene") == 0


def test_a_question_that_ends_a_scene_lends_nothing_to_its_first_line() -> None:
    entries = talk(("ann", "Good morning"), ("bob", "Hello"), ("ann", "Nice"), ("bob", "And the museum?"))
    found = retrieve(entries, Query(minute=0, text="museum"), DIALOGUE)
    around = {s.entry.number: part(s, "neighbours") for s in found}
    assert around == pytest.approx({1: 0, 2: 0.15, 3: 0.35, 4: 0})


def test_a_line_with_few_words_says_little() -> None:
    entries = talk(
        ("ann", "We met Bea at the pier and ate herring"),
        ("bob", "haha nice"),
        ("ann", "Where?"),
        ("bob", "We met Carl at the market and bought a lamp"),
    )
    profile = RetrievalProfile(name="information", components=(Component("information", 1.0, information),))
    told = {s.entry.number: s.score for s in retrieve(entries, Query(minute=0, text="xyzzy"), profile)}
    assert told[1] == told[4] == 1 > told[2] > told[3] == 0


def test_a_statement_counts_as_far_as_it_or_a_line_around_it_matches() -> None:
    entries = [
        *talk(("ann", "The museum is closed on Mondays"), ("bob", "It opens again at nine")),
        *talk(("ann", "My dog sleeps all day long"), scene="two", first=3),
    ]
    found = {s.entry.number: s for s in retrieve(entries, Query(minute=0, text="the museum"), DIALOGUE)}
    assert part(found[1], "statement") == 1
    assert part(found[2], "statement") == pytest.approx(0.5), "half of the line before is lent"
    assert part(found[3], "statement") == 0


def test_an_observation_has_full_information_and_no_speaker() -> None:
    lines = talk(("ann", "Ann met Bea at the pier and ate herring with her"), ("ann", "Ann waits"))
    seen = [memory(number, line.text, subjects=line.subjects) for number, line in enumerate(lines, start=3)]
    found = {s.entry.number: s for s in retrieve([*lines, *seen], Query(minute=0, text="Ann"), DIALOGUE)}
    assert part(found[2], "information") < part(found[4], "information") == 1
    assert part(found[2], "speaker") > part(found[4], "speaker") == 0


def test_a_frequent_word_of_the_query_counts_less_than_a_rare_one() -> None:
    entries = talk(("ann", "What a thing"), ("ann", "What a lantern"), ("bob", "Good"))
    found = retrieve(entries, Query(minute=0, text="A lantern thing"), DIALOGUE)
    assert numbers(found)[0] == 2
    assert {s.entry.number: part(s, "relevance") for s in found}[1] == pytest.approx(
        rarity("thing") / rarity("lantern")
    )


def speakers(entries: list[Entry], text: str) -> dict[int, float]:
    found = retrieve(entries, Query(minute=0, text=text), SPEAKER)
    return {s.entry.number: round(part(s, "speaker"), 1) for s in found}


def test_the_speakers_whom_a_query_names_share_the_favour() -> None:
    entries = talk(("ann", "I like tea"), ("bob", "I like tea"), ("cleo", "I like tea"))
    assert speakers(entries, "Does Ann like tea?") == {1: 1, 2: 0, 3: 0}
    assert speakers(entries, "Do Ann and Bob like tea?") == {1: 0.5, 2: 0.5, 3: 0}
    assert speakers(entries, "Who likes tea?") == {1: 0, 2: 0, 3: 0}


def test_a_name_at_the_start_of_a_line_is_its_speaker() -> None:
    both = ("agent:bjorn-holm", "agent:klara-nova")
    entries = [
        memory(1, "Klára Nová: Good", type="message", subjects=both),
        memory(2, "Björn Holm: Good", type="message", subjects=both),
        memory(3, "Good", type="message", subjects=both),
    ]
    assert speakers(entries, "Does KLARA like tea?") == {1: 1, 2: 0, 3: 0}
    assert speakers(entries, "Does Bjorn like tea?") == {1: 0, 2: 1, 3: 1}


@pytest.mark.parametrize(("letters", "known"), [(60, True), (61, False)])
def test_a_name_at_the_start_has_at_most_sixty_characters(letters: int, known: bool) -> None:
    name = "k" * letters
    entries = [memory(1, f"{name}: I like tea", type="message", subjects=("agent:bo", f"agent:{name}"))]
    assert speakers(entries, f"Does {name} like tea?") == {1: 1 if known else 0}
    assert speakers(entries, "Does Bo like tea?") == {1: 0 if known else 1}


def test_events_of_a_group_are_not_a_scene() -> None:
    entries = [memory(n, "Ann voted for the museum", type="message", source_id="group:all") for n in range(1, 13)]
    events = [msgspec.structs.replace(entry, tags=("event:voting_confirmed",)) for entry in entries]

    def around(given: list[Entry]) -> list[float]:
        found = retrieve(given, Query(minute=0, text="museum"), DIALOGUE)
        return [part(one, "neighbours") + part(one, "scene") for one in found]

    assert min(around(entries)) > 1
    assert not any(around(events))

"""Retrieval: formulas, filters, order, repeats, diversity, dialogue."""

from __future__ import annotations

import math
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.entry import ENTRY_TYPES, Entry
from cogitate.memory.language.text import normal
from cogitate.memory.retrieval.candidates import Candidates, Matching
from cogitate.memory.retrieval.retrieval import (
    DEFAULT,
    DIALOGUE,
    SPEC,
    Component,
    Query,
    RetrievalProfile,
    retrieve,
)
from tests.unit.memory.retrieval_case import memory, numbers, part

PROFILES = [SPEC, DEFAULT, DIALOGUE, RetrievalProfile(name="mmr", components=DEFAULT.components, diversity=0.5)]

entry_lists = st.lists(
    st.builds(
        Entry,
        type=st.sampled_from(ENTRY_TYPES),
        text=st.text("ab c?Яя日本", max_size=12),
        minute=st.integers(0, 3000),
        importance=st.integers(0, 10),
        subjects=st.lists(st.sampled_from(["agent:a", "b", "c"]), max_size=2).map(tuple),
        evidence=st.lists(st.integers(1, 12), max_size=2).map(tuple),
        source_id=st.sampled_from(["", "one", "two"]),
    ),
    max_size=12,
).map(lambda found: [numbered(e, n) for n, e in enumerate(found, start=1)])
queries = st.builds(
    Query,
    minute=st.integers(0, 3000),
    text=st.sampled_from(["", "When did a see b?", "ab c", "Яя 日本"]),
    limit=st.integers(0, 15),
    similarity=st.dictionaries(st.integers(1, 12), st.floats(width=32), max_size=5),
)


def numbered(entry: Entry, number: int) -> Entry:
    return msgspec.structs.replace(entry, number=number)


# -- what every profile promises ---------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES, ids=lambda p: p.name)
@given(entries=entry_lists, query=queries, seed=st.integers(0, 99))
def test_order_of_entries_does_not_matter(
    profile: RetrievalProfile, entries: list[Entry], query: Query, seed: int
) -> None:
    shuffled = random.Random(seed).sample(entries, len(entries))
    assert retrieve(shuffled, query, profile) == retrieve(entries, query, profile)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda p: p.name)
@given(entries=entry_lists, query=queries)
def test_the_requested_number_or_all_are_returned(
    profile: RetrievalProfile, entries: list[Entry], query: Query
) -> None:
    found = retrieve(entries, query, profile)
    there = len({normal(e.text) for e in entries}) if profile.distinct else len(entries)
    assert len(found) == min(query.limit, there)
    assert len(set(numbers(found))) == len(found)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda p: p.name)
@given(entries=entry_lists, query=queries)
def test_the_breakdown_adds_up_and_is_finite(profile: RetrievalProfile, entries: list[Entry], query: Query) -> None:
    found = retrieve(entries, query, profile)
    for scored in found:
        total = 0.0
        for p in scored.parts:
            total += p.weight * p.value
        assert scored.score == total
        assert math.isfinite(scored.score)
    if not profile.diversity:
        keys = [(s.score, s.entry.number) for s in found]
        assert keys == sorted(keys, reverse=True), "best first, of equals the newer"


# -- the streams design --------------------------------------------------------------------------------


def test_spec_formula_by_hand() -> None:
    entries = [
        memory(1, "Klaus talks about the Valentine party", minute=640, importance=7),
        memory(2, "the bed is idle", minute=1000, importance=1),
        memory(3, "I value my friends", minute=280, importance=10, type="reflection"),
    ]
    found = retrieve(entries, Query(minute=1000, text="the party at the cafe", limit=3), SPEC)
    by_number = {s.entry.number: s for s in found}
    # keywords: {klaus, talks, about, valentine, party} and {party, cafe}: 1 shared of 6
    assert by_number[1].score == pytest.approx(0.5 * 0.5 + 0.3 * 6 / 9 + 0.2 / 6)
    assert by_number[2].score == pytest.approx(0.5)
    assert by_number[3].score == pytest.approx(0.5 * 0.5 ** (720 / 1440) + 0.3)
    assert numbers(found) == [3, 2, 1]
    assert [p.name for p in found[0].parts] == ["recency", "importance", "relevance"]


def test_spec_uses_given_keywords_and_terms() -> None:
    entries = [memory(1, "x", keywords=("Party",)), memory(2, "party", keywords=("x",))]
    found = retrieve(entries, Query(minute=0, text="something else", terms=("party",), limit=1), SPEC)
    assert numbers(found) == [1]


def test_filters() -> None:
    entries = [
        memory(1, "one", importance=9, subjects=("agent:a",)),
        memory(2, "two", importance=4, subjects=("agent:b", "agent:a")),
        memory(3, "three", importance=9, type="plan"),
        memory(4, "four"),
    ]

    def found(**filters: object) -> list[int]:
        return sorted(numbers(retrieve(entries, Query(minute=0, **filters), SPEC)))  # type: ignore[arg-type]

    assert found() == [1, 2, 3, 4]
    assert found(types=("plan",)) == [3]
    assert found(types=("observation", "plan"), min_importance=5) == [1, 3]
    assert found(subjects=("agent:a",)) == [1, 2]
    assert found(subjects=("agent:b", "agent:c")) == [2]
    assert found(min_importance=3) == [1, 2, 3, 4], "what is not rated yet counts as ordinary"
    assert found(min_importance=4) == [1, 2, 3]
    assert found(limit=0) == []


def test_unrated_counts_as_ordinary() -> None:
    found = retrieve([memory(1, "a"), memory(2, "b", importance=3)], Query(minute=0), SPEC)
    assert found[0].score == found[1].score


# -- the default profile -------------------------------------------------------------------------------


def test_repeats_come_once_at_their_best() -> None:
    entries = [
        memory(1, "Watering the plants", minute=10, importance=2),
        memory(2, "watering  the PLANTS", minute=20, importance=8),
        memory(3, "watering the plants", minute=30, importance=2),
        memory(4, "reading", minute=5, importance=2),
    ]
    assert numbers(retrieve(entries, Query(minute=40, text="plants"), DEFAULT)) == [2, 4]


@pytest.mark.parametrize("profile", [SPEC, DIALOGUE])
def test_the_design_and_dialogues_return_repeated_texts(profile: RetrievalProfile) -> None:
    entries = [memory(1, "Watering the plants"), memory(2, "Watering the plants")]
    assert sorted(numbers(retrieve(entries, Query(minute=0, text="plants"), profile))) == [1, 2]


@pytest.mark.parametrize("times", [2, 5, 40])
def test_a_repeated_text_counts_once_in_word_statistics(times: int) -> None:
    texts = ["The well is dry.", "The well is deep and cold.", "A cart of apples came by.", "Rain."]

    def relevance(*repeated: str) -> dict[str, float]:
        entries = [memory(number, text) for number, text in enumerate([*texts, *repeated], 1)]
        found = Candidates(entries, Query(minute=0, text="the dry well"), Matching())
        return dict(zip((entry.text for entry in found.entries), found.relevance, strict=True))

    once = relevance()
    assert once[texts[0]] > once[texts[1]] > once[texts[2]] == 0
    for text in texts:
        assert relevance(*[text] * times) == once, text


def test_ties_and_constant_scores_are_handled() -> None:
    entries = [memory(n, f"text{n}", minute=7, importance=5) for n in (1, 2, 3)]
    found = retrieve(entries, Query(minute=7, text="unrelated"), DEFAULT)
    assert numbers(found) == [3, 2, 1]
    assert len({s.score for s in found}) == 1
    assert retrieve([], Query(minute=0, text="anything"), DEFAULT) == []


def test_word_forms_match_in_any_script() -> None:
    entries = [memory(1, "Она читала книги"), memory(2, "painted two fences"), memory(3, "slept")]
    assert numbers(retrieve(entries, Query(minute=0, text="книгами", limit=1), DEFAULT)) == [1]
    assert numbers(retrieve(entries, Query(minute=0, text="who paints?", limit=1), DEFAULT)) == [2]


def test_a_shared_theme_counts_less_than_a_shared_word() -> None:
    entries = [memory(1, "eating breakfast"), memory(2, "Klaus paints"), memory(3, "an early lunch")]
    found = retrieve(entries, Query(minute=0, text="lunch"), DEFAULT)
    assert numbers(found) == [3, 1, 2]
    shared_word, shared_theme, nothing = (part(s, "relevance") for s in found)
    assert shared_word > 2 * shared_theme > 0
    assert nothing == 0


def test_without_weight_for_themes_they_do_not_lengthen_a_text() -> None:
    entries = [memory(1, "Klaus eats lunch"), memory(2, "Klaus zigs zags")]
    plain = RetrievalProfile(name="plain", components=DEFAULT.components)
    of_one, of_other = (part(s, "relevance") for s in retrieve(entries, Query(minute=0, text="Klaus"), plain))
    assert of_one == of_other > 0


def test_recency_and_importance_do_not_drown_a_weak_match() -> None:
    entries = [memory(1, "我奶奶的戒指在集市上丢了。", minute=0, importance=3)]
    entries += [memory(n, f"铁匠买了第{n}匹黑马。", minute=60 * n, importance=9) for n in range(2, 30)]
    remark = "昨天我在家里想起很久以前的事情, 那时候大家都很高兴, 不知道那只戒指后来怎么样了, 真是可惜啊。"
    assert numbers(retrieve(entries, Query(minute=2_000, text=remark, limit=1))) == [1]


def test_evidence_of_relevant_entries_is_supported() -> None:
    entries = [
        memory(1, "reading about rent"),
        memory(2, "drinking tea"),
        memory(3, "Klaus studies gentrification", type="reflection", evidence=(1, 99)),
    ]
    found = {s.entry.number: s for s in retrieve(entries, Query(minute=0, text="gentrification"), DEFAULT)}
    assert part(found[1], "support") == 1
    assert part(found[2], "support") == 0
    assert found[1].score > found[2].score


def test_similarities_of_the_host_count_when_given() -> None:
    entries = [memory(1, "a"), memory(2, "b"), memory(3, "c")]
    query = Query(minute=0, text="x", similarity={1: 0.9, 2: 0.1, 3: math.nan, 77: 5.0})
    found = retrieve(entries, query, DEFAULT)
    assert numbers(found) == [1, 3, 2]
    assert [part(s, "similarity") for s in found] == [1, 0.5, 0], "the third counts as the mean of the others"


def test_diversity_puts_near_repeats_later() -> None:
    profile = RetrievalProfile(name="diverse", components=(Component("relevance", 1.0, SPEC.components[2].measure),))
    entries = [
        memory(1, "party cafe decorations balloons"),
        memory(2, "party cafe decorations ribbons"),
        memory(3, "party"),
    ]
    query = Query(minute=0, text="party cafe decorations", limit=2)
    assert numbers(retrieve(entries, query, profile)) == [2, 1]
    diverse = RetrievalProfile(name="mmr", components=profile.components, diversity=0.8)
    assert numbers(retrieve(entries, query, diverse)) == [2, 3]


# -- the same in every version ---------------------------------------------------------------------------


def told_of(number: int, text: str, **fields: Any) -> Entry:
    values = {"type": "observation", "subjects": ("agent:ann",), "importance": number} | fields
    return Entry(text=text, minute=100 * number, number=number, **values)


PARTY = [
    told_of(1, "Ann bakes bread for the party", tags=("feast",)),
    told_of(2, "When is the party?", type="message", source_id="s", subjects=("agent:bo", "agent:ann")),
    told_of(3, "On Friday at noon", type="message", source_id="s"),
    told_of(4, "Bring your dog to the party", type="message", source_id="s", keywords=("puppy",)),
    told_of(5, "The dog slept", type="summary"),
    told_of(6, "Parties make me glad", type="reflection", evidence=(1, 5)),
    told_of(7, "Plan a party", type="plan"),
    told_of(8, "Nice weather", type="message", source_id="t"),
]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (SPEC, {7: 0.61458, 6: 0.5791, 8: 0.57353, 5: 0.36426, 4: 0.25749, 3: 0.19657, 2: 0.19049, 1: 0.15506}),
        (DEFAULT, {4: 2.70686, 3: 2.25478, 5: 2.1566, 1: 1.62991, 8: 1.51726, 7: 1.18457, 6: 1.08686, 2: 1.03626}),
    ],
    ids=["spec", "default"],
)
def test_a_query_finds_the_same_in_every_version(profile: RetrievalProfile, expected: dict[int, float]) -> None:
    """The result decides which memories a prompt shows, so a changed weight changes behaviour."""
    query = Query(minute=1_000, text="When is the party of Ann with her dog?", limit=9, similarity={1: 0.5, 4: 0.1})
    found = retrieve(PARTY, query, profile)
    assert [one.entry.number for one in found] == list(expected)
    assert {one.entry.number: one.score for one in found} == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (SPEC, {6: 0.5791, 7: 0.57458, 8: 0.57353, 5: 0.32426}),
        (DEFAULT, {4: 2.62052, 1: 1.42352, 3: 1.42218, 8: 1.12095}),  # keywords, speakers and tags are searched too
    ],
    ids=["spec", "default"],
)
def test_words_beside_the_text_are_searched(profile: RetrievalProfile, expected: dict[int, float]) -> None:
    found = retrieve(PARTY, Query(minute=1_000, text="ann puppy feast", limit=4), profile)
    assert [one.entry.number for one in found] == list(expected)
    assert {one.entry.number: one.score for one in found} == pytest.approx(expected, abs=1e-5)


def test_diversity_weighs_score_against_overlap() -> None:
    entries = [
        told_of(1, "tea cake tea cake", importance=5),
        told_of(2, "tea cake", importance=5),
        told_of(3, "tea party", importance=5),
        told_of(4, "rain storm", importance=5),
        told_of(5, "", importance=5),
    ]
    query = Query(minute=1_000, text="tea cake party", limit=5)

    def order(diversity: float) -> list[int]:
        profile = diverse(diversity)
        return [one.entry.number for one in retrieve(entries, query, profile)]

    assert order(0.0) == [3, 1, 2, 5, 4]
    assert order(0.3) == [3, 1, 2, 5, 4]
    assert order(0.7) == [3, 1, 5, 4, 2]
    assert order(1.0) == [3, 5, 4, 1, 2]


def diverse(diversity: float) -> RetrievalProfile:
    return RetrievalProfile(name="x", components=DEFAULT.components[:1], diversity=diversity)


def test_an_entry_that_nothing_relevant_cites_has_no_support() -> None:
    entries = [
        memory(1, "reading about rent"),
        memory(2, "drinking tea"),
        memory(3, "Klaus studies gentrification", type="reflection", evidence=(1,)),
        memory(4, "Klaus drinks", type="reflection", evidence=(2,)),
    ]

    def support(text: str) -> dict[int, float]:
        found = retrieve(entries, Query(minute=0, text=text), DEFAULT)
        return {s.entry.number: part(s, "support") for s in found}

    assert support("gentrification") == {1: 1, 2: 0, 3: 0, 4: 0}
    assert support("painting") == {1: 0, 2: 0, 3: 0, 4: 0}
    assert support("") == {1: 0, 2: 0, 3: 0, 4: 0}
    assert part(retrieve(entries[:1], Query(minute=0, text="rent"), DEFAULT)[0], "support") == 0


def test_support_of_several_adds_up() -> None:
    entries = [
        memory(1, "reading about rent"),
        memory(2, "drinking tea"),
        memory(3, "gentrification", type="reflection", evidence=(1, 2)),
        memory(4, "gentrification again", type="reflection", evidence=(1,)),
    ]
    found = {
        s.entry.number: part(s, "support") for s in retrieve(entries, Query(minute=0, text="gentrification"), DEFAULT)
    }
    assert found[1] == 1
    assert 0 < found[2] < 1


def test_without_similarities_all_are_equally_similar() -> None:
    entries = [memory(1, "a"), memory(2, "b")]
    for similarity in ({}, {77: 5.0}, {1: math.nan, 2: math.inf}, {1: 3.0, 2: 3.0}):
        found = retrieve(entries, Query(minute=0, text="x", similarity=similarity), DEFAULT)
        assert [part(s, "similarity") for s in found] == [0, 0]


def test_an_unrated_entry_has_ordinary_importance() -> None:
    entries = [memory(1, "a", importance=1), memory(2, "b"), memory(3, "c", importance=10)]
    found = {s.entry.number: part(s, "importance") for s in retrieve(entries, Query(minute=0), DEFAULT)}
    assert (found[1], found[3]) == (0, 1)
    assert 0 < found[2] < 1


@pytest.mark.parametrize(
    ("query", "filters"),
    [
        (Query(minute=0), False),
        (Query(minute=0, min_importance=0), False),
        (Query(minute=0, min_importance=1), True),
        (Query(minute=0, types=("plan",)), True),
        (Query(minute=0, subjects=("a",)), True),
        (Query(minute=0, text="x", limit=3), False),
    ],
)
def test_a_query_filters_by_type_subject_or_importance(query: Query, filters: bool) -> None:
    assert query.filters is filters


def test_an_explanation_names_the_components_that_counted() -> None:
    (found,) = retrieve([memory(1, "rent", importance=5)], Query(minute=0, text="rent"), DEFAULT)
    named = [said.split()[0] for said in found.why.split(" + ")]
    assert named == [p.name for p in found.parts if p.value]
    assert "relevance" in named
    assert "similarity" not in named


def test_search_terms_precede_the_words_of_the_text() -> None:
    entries = [memory(1, "rent"), memory(2, "tea")]
    assert numbers(retrieve(entries, Query(minute=0, text="tea", terms=("rent",), limit=1), DEFAULT)) == [1]
    assert numbers(retrieve(entries, Query(minute=0, text="tea", limit=1), DEFAULT)) == [2]


def test_the_best_are_found_in_any_order_and_in_an_empty_list() -> None:
    entries = [memory(n, f"rent {n}", minute=n) for n in range(6)]
    shuffled = [entries[i] for i in (3, 0, 5, 1, 4, 2)]
    query = Query(minute=9, text="rent", limit=4)
    assert numbers(retrieve(shuffled, query, DEFAULT)) == numbers(retrieve(entries, query, DEFAULT))
    assert retrieve([], query, DEFAULT) == []
    assert retrieve(entries, Query(minute=9, text="rent", limit=0), DEFAULT) == []

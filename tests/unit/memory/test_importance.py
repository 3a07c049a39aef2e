"""Importance by rule, and learned from the ratings that a run paid for."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from memory.entry import Entry
from memory.importance import _MAX_TEXTS, Ratings, RatingState, rate_by_rule

OWNER = "agent:Maria Lopez"


def seen(text: str, **other: object) -> Entry:
    return msgspec.structs.replace(Entry(type="observation", text=text, minute=0), **other)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (seen("Tom walks by"), 5),
        (Entry(type="reflection", text="Tom walks a lot", minute=0), 7),
        (Entry(type="plan", text="Walk", minute=0), 6),
        (seen("A SIGNIFICANT and important day"), 6),
        (seen("a friend, a friendship, a relationship"), 6),
        (seen("Tom learned it", source="dialogue"), 7),
        (seen("Tom, Ann, Bob", subjects=("a", "b", "c")), 6),
        (seen("Tom, Ann", subjects=("a", "b")), 5),
        (
            Entry(
                type="reflection",
                text="important: learned that a friend left",
                minute=0,
                subjects=("a", "b", "c"),
                source="dialogue",
            ),
            10,
        ),
    ],
)
def test_the_rule_of_spec_3(entry: Entry, expected: int) -> None:
    assert rate_by_rule(entry) == expected


def test_before_any_rating_kinds_of_text_differ() -> None:
    ratings = Ratings()
    low = ratings.estimate(OWNER, seen("Maria Lopez is brushing her teeth"))
    middle = ratings.estimate(OWNER, seen("Tom is processing payments"))
    high = ratings.estimate(OWNER, seen("Maria Lopez discusses the election and her research with a friend"))
    assert low.rating < middle.rating < high.rating
    assert low.error < high.error


def test_a_rating_is_remembered_and_carries_to_similar_texts() -> None:
    ratings = Ratings()
    text = seen("Maria Lopez is feeding the dragon")
    before = ratings.estimate(OWNER, text)
    for _ in range(3):
        ratings.learn(OWNER, text, 9)
    after = ratings.estimate(OWNER, text)
    assert before.rating < 9 == after.rating
    assert after.error < before.error
    assert ratings.known(OWNER, seen("maria lopez  is feeding the dragon")) == 9
    assert ratings.known("agent:Tom", text) is None
    near = ratings.estimate(OWNER, seen("Maria Lopez is feeding her dragon again"))
    other = ratings.estimate(OWNER, seen("Tom processes payments"))
    assert near.rating > other.rating


def test_an_owner_is_likest_itself() -> None:
    ratings = Ratings()
    text = seen("The dragon sleeps on the hoard")
    ratings.learn(OWNER, text, 9)
    ratings.learn("agent:Tom", text, 2)
    assert ratings.estimate(OWNER, text).rating > ratings.estimate("agent:Tom", text).rating


def test_estimating_changes_nothing() -> None:
    ratings = Ratings()
    ratings.learn(OWNER, seen("A dragon"), 8)
    before = msgspec.json.encode(ratings.state)
    ratings.estimate(OWNER, seen("Another dragon"))
    assert msgspec.json.encode(ratings.state) == before


def test_the_state_goes_through_json_and_goes_on_alike() -> None:
    first = Ratings()
    for n in range(60):
        entry = seen(f"Event {n % 7} of kind {n % 3} in the cafe")
        if first.deserves_call(first.estimate(OWNER, entry), 0.5):
            first.learn(OWNER, entry, n % 10 + 1)
    stored = msgspec.json.encode(first.state)
    second = Ratings(msgspec.json.decode(stored, type=RatingState))
    for n in range(20):
        entry = seen(f"Event {n % 5} of kind {n} in the library")
        estimates = first.estimate(OWNER, entry), second.estimate(OWNER, entry)
        assert estimates[0] == estimates[1]
        called = [r.deserves_call(e, 0.5) for r, e in zip((first, second), estimates, strict=True)]
        assert called[0] == called[1]
        if called[0]:
            first.learn(OWNER, entry, 6)
            second.learn(OWNER, entry, 6)
    assert msgspec.json.encode(first.state) == msgspec.json.encode(second.state)


def test_what_is_kept_is_bounded() -> None:
    ratings = Ratings()
    for n in range(_MAX_TEXTS + 50):
        ratings.learn(OWNER, seen(f"Thing {n} happened at stall {n}"), 3)
    for n in range(40):
        ratings.learn(f"agent:{n}", seen("One text"), 4)
    assert len(ratings.state.texts) == _MAX_TEXTS
    assert max(len(t.ratings) for t in ratings.state.texts.values()) <= 16
    assert ratings.known(OWNER, seen("Thing 0 happened at stall 0")) is None
    assert ratings.known(OWNER, seen(f"Thing {_MAX_TEXTS} happened at stall {_MAX_TEXTS}")) == 3
    stems = {stem for key in ratings._index for stem in [key.split(" ", 1)[1]]}
    kept = {stem for text in ratings.state.texts.values() for stem in text.stems}
    assert stems == kept


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 1.0])
def test_calls_keep_to_their_share(share: float) -> None:
    ratings = Ratings()
    calls = 0
    for n in range(400):
        entry = seen(f"Maria Lopez meets guest {n} about {'research' if n % 4 else 'lunch'}")
        if ratings.deserves_call(ratings.estimate(OWNER, entry), share):
            calls += 1
            ratings.learn(OWNER, entry, 3 + n % 4)
        assert calls <= share * (n + 1) + 10
    assert calls >= 0.6 * share * 400
    assert share > 0 or calls == 0


def test_dirty_ratings_are_clamped() -> None:
    ratings = Ratings()
    ratings.learn(OWNER, seen("A dragon"), 14)
    ratings.learn(OWNER, seen("A mouse"), -3)
    assert ratings.known(OWNER, seen("A dragon")) == 10
    assert ratings.known(OWNER, seen("A mouse")) == 1
    assert 1 <= ratings.estimate(OWNER, seen("")).rating <= 10


def test_recorded_days_are_predicted_better_than_by_a_median_per_type(recordings: Path) -> None:
    from bench.quality.importance import by, learned, rated_entries
    from bench.quality.recordings import load_runs

    runs = load_runs(recordings)
    if not runs:
        pytest.skip("COGITATE_RECORDINGS holds no runs")
    for run in runs:
        rated = rated_entries(run)
        usual = by(lambda entry: 3 if entry.type == "observation" else 5)(rated).error
        assert learned(0)(rated).error < 0.95 * usual
        some = learned(0.2)(rated)
        assert some.error < 0.6 * usual
        assert some.calls <= 0.21

"""Ratings given after the fact: the entry as of any tick, the kind's batches, its answer and its predictions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.memory.apply import apply, unmet
from cogitate.memory.effects import Rate
from cogitate.memory.importance import rate_by_rule
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.stream import Stream
from cogitate.prompts.answers import RatingsAnswer
from cogitate.prompts.render import Templates
from cogitate.tasks.kind import Backlog
from cogitate.tasks.rate import BATCH, EVERY, FEWEST, RateImportance
from tests.unit.tasks.kind_cases import KLAUS, case_of, due_turn, moment_of, observation, stream_of

KIND = RateImportance(Templates())
PATIENT = MemoryLimits().reflection_interval // 6  # game minutes that an entry waits for others


def unrated(count: int, text: str = "Saw a heron at pond {}.") -> Stream:
    return stream_of(*(observation(text.format(i), 600 + i, importance=0) for i in range(count)))


def answer(*ratings: tuple[int, int]) -> RatingsAnswer:
    return RatingsAnswer.model_validate({"ratings": [{"number": n, "importance": r} for n, r in ratings]})


def rate(numbers: tuple[int, ...], ratings: tuple[int, ...]) -> Rate:
    return Rate(owner=KLAUS, numbers=numbers, ratings=ratings)


def test_a_rating_holds_from_its_tick_on() -> None:
    stream = unrated(2)
    apply({KLAUS: stream}, (rate((1,), (7,)),), 50)
    assert stream.entries[1].importance == 7
    assert stream.live()[0].importance == 7
    assert [e.importance for e in stream.as_of(2, 49)] == [0, 0]
    assert [e.importance for e in stream.as_of(2, 50)] == [7, 0]
    assert stream.as_of(2, 49)[0] == unrated(2).entries[1], "as if it had never been rated"
    assert stream.unrated() == [2]


def test_an_entry_is_rated_once_and_missing_ones_are_skipped() -> None:
    stream = unrated(3)
    stream.archive(2, 5)
    stream.archive(3, 5)
    stream.delete([3])
    effects = (rate((1, 2, 3), (7, 8, 9)), rate((1,), (2,)))
    assert unmet({KLAUS: stream}, effects) is None
    apply({KLAUS: stream}, effects, 50)
    assert {n: e.importance for n, e in stream.entries.items()} == {1: 7, 2: 8}
    assert [e.importance for e in stream.as_of(3, 3)] == [0, 0]


@pytest.mark.parametrize("ratings", [(1,), (0, 1), (11, 1), (1, 2, 3)])
def test_invalid_ratings_are_refused(ratings: tuple[int, ...]) -> None:
    assert "cannot be rated" in (unmet({KLAUS: unrated(2)}, (rate((1, 2), ratings),)) or "")


def test_few_entries_wait_for_others_and_enough_for_the_owners_turn_only() -> None:
    few, enough = unrated(FEWEST - 1), unrated(FEWEST)
    early, late = range(610, 610 + EVERY), range(600 + PATIENT, 600 + PATIENT + EVERY)
    asked = [[t for t in ticks if list(KIND.due(moment_of(few, t)))] for ticks in (early, late)]
    assert [*map(len, asked)] == [0, 1]
    assert KIND.wake(moment_of(few, 610)) == asked[1][0], "the first turn at which the oldest has waited long"
    (turn,) = (t for t in early if list(KIND.due(moment_of(enough, t))))
    assert KIND.wake(moment_of(enough, turn)) == turn + EVERY


@pytest.mark.parametrize(
    ("waiting", "minute", "asks"),
    [
        ((FEWEST, 700), 700, True),
        ((FEWEST - 1, 600), 600 + 2 * PATIENT, True),
        ((FEWEST - 1, 601), 600 + 2 * PATIENT, False),
    ],
    ids=["enough", "one has waited long", "few, for a short time"],
)
def test_where_turns_are_shared_the_entries_of_all_owners_count(
    waiting: tuple[int, int], minute: int, asks: bool
) -> None:
    stream = stream_of(observation("Saw a heron.", minute, importance=0))
    moment = msgspec.structs.replace(
        moment_of(stream, minute), turn_of=lambda kind: 60, unrated=lambda: Backlog(*waiting)
    )
    assert bool(list(KIND.due(moment))) == asks
    alone = msgspec.structs.replace(moment, turn_of=lambda kind: 1)
    assert not list(KIND.due(alone))


def test_a_batch_does_not_wait() -> None:
    many = unrated(BATCH + 2)
    for tick in range(1000, 1000 + EVERY):
        (request,) = KIND.due(moment_of(many, tick))
        assert request.numbers == tuple(range(1, BATCH + 1))
    assert request.params["estimates"]["1"] == rate_by_rule(many.entries[1])
    for count, ticks in ((BATCH - 1, 1), (BATCH, EVERY)):
        asked = [tick for tick in range(1000, 1000 + EVERY) if list(KIND.due(moment_of(unrated(count), tick)))]
        assert len(asked) == ticks


def test_rated_entries_are_not_requested_again() -> None:
    stream = unrated(1)
    apply({KLAUS: stream}, (rate((1,), (4,)),), 700)
    assert not any(list(KIND.due(moment_of(stream, tick))) for tick in range(1000, 1020))
    assert KIND.wake(moment_of(stream, 1000)) is None


def case(stream: Stream, **estimates: int) -> Any:
    return case_of(KIND, stream, 700, params={"estimates": estimates})


def test_each_text_is_shown_once_and_its_rating_holds_for_all_of_it() -> None:
    stream = stream_of(*(observation(text, 600, importance=0) for text in ("A storm!", "Tea.", "a storm!", "Rain.")))
    prompt = KIND.prompt(case(stream))
    assert [line for line in prompt.user.split("\n") if line.startswith("- [")] == [
        "- [1] A storm!",
        "- [2] Tea.",
        "- [4] Rain.",
    ]
    effects = KIND.effects(case(stream, **{"2": 2}), answer((1, 9), (4, 3), (77, 5)), prompt.used)
    assert effects == (
        Rate(owner=KLAUS, numbers=(1, 3, 4), ratings=(9, 9, 3), paid=True),
        Rate(owner=KLAUS, numbers=(2,), ratings=(2,)),
    )


def test_an_answer_about_other_entries_is_refused() -> None:
    with pytest.raises(ValueError, match="none of 1 ratings"):
        KIND.effects(case(unrated(2)), answer((77, 5)), (1, 2))


def sizes(stream: Stream, outcomes: list[bool]) -> list[tuple[int, int]]:
    """First number and size of the batches that are asked for one after another, each answered well or not at all."""
    asked = []
    for goes_well in outcomes:
        (request,) = due_turn(KIND, stream, 1000)
        assert request.numbers is not None
        asked.append((request.numbers[0], len(request.numbers)))
        one = case_of(KIND, stream, 1000, request=request)
        effects = KIND.halve(one)
        if goes_well:
            effects = KIND.effects(one, answer(*((n, 4) for n in request.numbers)), request.numbers)
        apply({KLAUS: stream}, effects, 1000)
    return asked


def test_a_failing_batch_is_halved_until_one_succeeds() -> None:
    stream = unrated(40)
    assert sizes(stream, [False, False, True, True, True]) == [(1, 20), (1, 10), (1, 5), (6, 10), (16, 20)]
    assert {e.importance for e in stream.entries.values() if e.number <= 35} == {4}
    assert stream.unrated() == list(range(36, 41))


def test_a_failing_model_is_tried_a_few_times_and_predictions_stand() -> None:
    stream = unrated(20)
    assert sizes(stream, [False] * 6) == [(1, 20), (1, 10), (1, 5), (6, 5), (11, 5), (16, 5)]
    assert stream.unrated() == []


def test_without_a_model_predictions_stand_or_else_the_rule() -> None:
    stream = unrated(2, "An important day with a friend, {}.")
    (effect,) = KIND.heuristic(case(stream, **{"1": 2}))
    assert effect == Rate(owner=KLAUS, numbers=(1, 2), ratings=(2, 7))
    assert KIND.heuristic(case(stream_of())) == ()

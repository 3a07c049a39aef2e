"""Spending by value: what a call is worth, how a day's limit lasts, and what checks show."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY
from cogitate.memory.effects import Append, Effect, Rate
from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.budget import BudgetView, Guarantee
from cogitate.scheduler.budget.call_value import (
    CHECKS,
    FULL,
    CallValues,
    ValueState,
    Worth,
    change_of,
    happened_since,
)
from cogitate.scheduler.budget.value_round import ValueRound
from cogitate.scheduler.config.limits import LimitTable
from cogitate.tasks.job import Cost, JobKey, Request, Valued

OWNERS = [f"agent:a{number}" for number in range(10)]
CALL = Cost(calls=1)
KINDS = {"plan": True, "act": False}  # whether each owner has it once a day


def worth(kind: str = "act", priority: int = 0, **given: object) -> Worth:
    asked: dict[str, object] = {"weight": 1.0, "happened": 50, "enough": 150, "is_first": False}
    return CallValues().worth(Request(kind=kind, owner="agent:a", priority=priority), **asked | given)  # type: ignore[arg-type]


@given(st.integers(0, 500), st.integers(0, 500))
def test_more_events_are_worth_more_and_a_first_thought_twice_as_much(one: int, other: int) -> None:
    low, high = worth(happened=min(one, other)), worth(happened=max(one, other))
    assert low.value <= high.value
    assert low.step <= high.step
    first = worth(happened=max(one, other), is_first=True)
    assert (first.value, first.step) == (2 * high.value, high.step)


def test_weights_and_priorities_multiply_the_value() -> None:
    assert worth(weight=0.0).value == 0
    assert worth(weight=3.0).value == 3 * worth().value
    assert worth(priority=1).value == 2 * worth().value
    assert worth(priority=-5).value == worth().value


def test_happened_since_sums_the_importance_of_later_entries() -> None:
    stream = Stream("agent:a")
    for tick, kind, importance in (
        (1, "observation", 5),
        (4, "observation", 2),
        (4, "reflection", 9),
        (6, "message", 0),
    ):
        stream.append(Entry(type=kind, text=f"At {tick}.", minute=tick, importance=importance), tick)  # type: ignore[arg-type]
    assert happened_since(stream, -1) == 5 + 2 + 3
    assert happened_since(stream, 3) == 2 + 3, "an unrated entry counts as an ordinary one"
    assert happened_since(stream, 6) == 0


def test_a_repeated_text_happens_once() -> None:
    stream = Stream("agent:a")
    for tick, text, importance in ((1, "The well is dry.", 6), (2, "Rain.", 2), (3, "The well is dry.", 6)):
        stream.append(Entry(type="observation", text=text, minute=tick, importance=importance), tick)
    assert happened_since(stream, -1) == 6 + 2
    assert happened_since(stream, 1) == 2 + 6, "a text from before counts again when it is met again"


def said(text: str) -> tuple[Effect, ...]:
    return (Append(owner="agent:a", entry=Entry(type="reflection", text=text, minute=0)),)


def test_a_change_is_measured_in_words_or_ratings() -> None:
    assert change_of(said("Ben repaired the old mill."), said("Ben repaired the old mill.")) == 0
    assert change_of(said("Ben repaired the mill."), said("Ada wants peace.")) == FULL
    assert 0 < change_of(said("Ben repaired the mill."), said("Ben repaired the ship.")) < FULL
    rates = [(Rate(owner="agent:a", numbers=(1, 2), ratings=given),) for given in ((1, 10), (10, 10), (1, 10))]
    assert change_of(rates[0], rates[1]) == FULL // 2
    assert change_of(rates[0], rates[2]) == 0
    assert change_of((), ()) == 0


class Lived(NamedTuple):
    """A request, and whether it was admitted."""

    key: JobKey
    happened: int
    need: int
    valued: Valued | None  # None: refused


def admitted(
    values: CallValues,
    view: BudgetView,
    minute: int,
    asking: Sequence[tuple[Request, Worth]],
    kinds: Mapping[str, bool],
    owners: int,
) -> list[Valued | None]:
    """Return how the call of each request of a tick was valued; None: it was refused."""
    known = {id(request): worth for request, worth in asking}
    found = ValueRound(
        values,
        view,
        minute,
        worth_of=lambda request: known[id(request)],
        kinds=kinds,
        owners=owners,
        last=None,
    )
    found.begin(request for request, _ in asking)
    results: list[Valued | None] = []
    for request, _ in asking:
        key = JobKey(minute, request.kind, request.owner, 0, 0)
        cells = view.cells(key, minute)
        fits = view.refusal(key, minute, CALL) is None and found.affords(key, request, CALL, cells)
        if fits:
            view.move(cells, Cost(), CALL)
        results.append(found.valued(key, request) if fits else None)
    return results


def live(values: CallValues, view: BudgetView, day: int) -> Iterator[Lived]:
    """Yield the requests of a day with their values: a plan each at 06:00, and acts from 07:00 to 22:00."""
    chance, served = random.Random(day), set[tuple[str, str]]()
    for now in range(360, 1320, 10):
        minute = day * DAY + now
        kind = "plan" if now == 360 else "act"
        if 360 < now < 420:
            continue
        asking = []
        happened = [chance.randrange(300) for _ in OWNERS]
        for owner, much in zip(OWNERS, happened, strict=True):
            request, is_first = Request(kind=kind, owner=owner), (kind, owner) not in served
            asking.append((request, values.worth(request, weight=1.0, happened=much, enough=150, is_first=is_first)))
        results = admitted(values, view, minute, asking, KINDS, len(OWNERS))
        for (request, worth), much, valued in zip(asking, happened, results, strict=True):
            if valued is not None:
                served.add((kind, request.owner))
            yield Lived(JobKey(minute, kind, request.owner, 0, 0), much, worth.need, valued)


@given(st.lists(st.integers(0, FULL), max_size=20), st.integers(0, 500), st.integers(0, 500))
def test_learned_changes_reorder_kinds_but_not_requests_of_a_kind(found: list[int], happened: int, other: int) -> None:
    values = CallValues()

    def of(kind: str, much: int) -> Worth:
        return values.worth(Request(kind=kind, owner="agent:a"), weight=1.0, happened=much, enough=150, is_first=False)

    before = of("act", happened), of("act", other)
    for change in found:
        values.learn("act", Valued(is_check=False), change, CALL)
    after = of("act", happened), of("act", other)
    assert [one.step for one in after] == [one.step for one in before], "what was asked before stays comparable"
    assert (after[0].value > after[1].value) <= (happened > other)
    expected = values.expected("act")
    assert (of("act", happened).value > of("plan", happened).value) <= (expected > values.expected("plan"))


def test_a_limit_for_all_goes_to_the_kind_that_models_change() -> None:
    values, view = CallValues(), view_of(100)
    for _ in range(50):
        values.learn("act", Valued(is_check=False), 0, CALL)
        values.learn("talk", Valued(is_check=False), FULL, CALL)
    made = Counter[str]()
    for minute in range(0, DAY, 10):
        requests = [Request(kind=kind, owner=owner) for owner in OWNERS[:2] for kind in ("act", "talk")]
        asking = [(one, values.worth(one, weight=1.0, happened=50, enough=150, is_first=False)) for one in requests]
        results = admitted(values, view, minute, asking, {"act": False, "talk": False}, 2)
        made.update(one.kind for one, valued in zip(requests, results, strict=True) if valued)
    assert made["talk"] > 8 * made["act"] > 0, "all but the checks"


@pytest.mark.parametrize("limit", [10, 14])
def test_each_owner_has_a_first_thought_before_others_have_a_second(limit: int) -> None:
    """Owners rise one after the other, and ask once an hour from then on."""
    values, view, made = CallValues(), view_of(limit), Counter[str]()
    for hour in range(6, 22):
        risen = OWNERS[: hour - 5]
        asking = []
        for owner in risen:
            request = Request(kind="reflect", owner=owner)
            asking.append(
                (request, values.worth(request, weight=1.0, happened=50, enough=150, is_first=not made[owner]))
            )
        results = admitted(values, view, 60 * hour, asking, {"reflect": False}, len(OWNERS))
        made.update(owner for owner, valued in zip(risen, results, strict=True) if valued)
    assert len(made) >= 9, "a check may take the call of one"
    assert sum(made.values()) > 0.9 * limit


def view_of(limit: int, **guarantees: float) -> BudgetView:
    promised = {kind: Guarantee(share, DAY) for kind, share in guarantees.items()}
    return BudgetView(LimitTable({"day.run.calls": limit}), retry_share=0.0, guarantees=promised)


@pytest.mark.parametrize("limit", [91, 182, 455])
def test_a_fifth_of_the_calls_lasts_until_the_evening(limit: int) -> None:
    values, view = CallValues(), view_of(limit)
    for day in range(3):
        spent = Counter[int]()
        for one in live(values, view, day):
            spent[one.key.tick % DAY // 60] += one.valued is not None
        by_noon, by_evening = (sum(spent[hour] for hour in range(until)) for until in (12, 20))
        assert by_noon < 0.6 * limit, (day, spent)
        assert by_evening < limit, "there is a rest for the evening"
        assert sum(spent.values()) > 0.8 * limit, "the day does not end with calls that nobody got"


def test_the_calls_of_highest_value_are_made() -> None:
    values, view = CallValues(), view_of(182)
    found = [one for day in range(2) for one in live(values, view, day)]
    acts = [(one.need, one.valued) for one in found if one.key.kind == "act"]
    made = [value for value, valued in acts if valued is not None]
    best = sorted((value for value, _ in acts), reverse=True)[: len(made)]
    everything = sum(value for value, _ in acts) / len(acts)
    gain = (sum(made) / len(made) - everything) / (sum(best) / len(best) - everything)
    assert gain > 0.8, "of what a choice that knows all values gains over none"


def test_no_value_refuses_a_kind_inside_its_guarantee() -> None:
    found = list(live(CallValues(), view_of(40, plan=0.5), 0))
    assert all(one.valued for one in found if one.key.kind == "plan")
    assert not all(one.valued for one in found)


def test_everything_is_admitted_while_limits_cover_the_demand() -> None:
    assert all(one.valued for day in (0, 1) for one in live(CallValues(), view_of(10_000), day))


def test_a_restored_state_decides_the_same() -> None:
    values, view = CallValues(), view_of(150)
    for one in live(values, view, 0):
        if one.valued:
            values.learn(one.key.kind, one.valued, one.key.tick % FULL, Cost(calls=1, tokens=500))
    kept = typed_json.decode(msgspec.json.encode(values.state), ValueState)
    again = BudgetView(view.table, retry_share=0.0, guarantees={})
    again.held = dict(view.held)
    assert list(live(values, view, 1)) == list(live(CallValues(kept), again, 1))


def test_checks_estimate_the_change_of_all_calls() -> None:
    values, view = CallValues(), view_of(300)
    true = made = calls = requests = 0
    for one in (one for day in range(12) for one in live(values, view, day)):
        requests += 1
        change = 3 * one.happened
        true += change
        if one.valued:
            values.learn(one.key.kind, one.valued, change, CALL)
            calls, made = calls + 1, made + change
    checked = values.state.checked
    assert checked.answers == pytest.approx(calls / CHECKS, rel=0.2)
    assert checked.found / checked.answers == pytest.approx(true / requests, rel=0.1)
    assert made / calls > 1.3 * true / requests, "calls of high value change more, so they cannot be the measure"

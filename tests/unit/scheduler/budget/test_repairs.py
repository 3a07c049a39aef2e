"""Which provisional entries are repaired, in which order, and when."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.apply import apply
from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import AdmissionRound, Decided
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.repairs import (
    FAILED,
    MOST,
    MOST_TOLD,
    RepairRefused,
    admit_repairs,
    admit_retry,
    failed_repair,
    is_time,
    repairs,
)
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.latency.due_ticks import Bounds, DueTicks
from cogitate.scheduler.latency.latencies import Latencies, LatencyPrior
from cogitate.tasks.job import Cost, Request
from tests.unit.scheduler.scheduler_case import Thinker, fixed_ticks
from tests.unit.tasks.kind_cases import KLAUS, message, observation, stream_of

EVENING = 1200


def reflection(minute: int, importance: int = 6, provisional: bool = True) -> Entry:
    return Entry(type="reflection", text="A day.", minute=minute, importance=importance, provisional=provisional)


def day(owner: str = KLAUS, importance: int = 6) -> Stream:
    """Five things seen, two of them before an earlier reflection, and a provisional reflection."""
    return stream_of(
        *(observation(f"Saw {i}.", 500 + i) for i in range(2)),
        reflection(510, provisional=False),
        *(observation(f"Saw {i}.", 600 + i) for i in range(3)),
        reflection(1100, importance),
        observation("Saw the moon.", 1150),
        owner=owner,
    )


def wanted(*streams: Stream, minute: int = EVENING) -> list[Request]:
    return repairs({stream.owner: stream for stream in streams}, minute)


def test_reflection_is_repaired_from_its_observations() -> None:
    stream = day()
    stream.archive(5, 2)
    (request,) = wanted(stream)
    assert (request.kind, request.numbers) == ("reflect", (4, 5, 6))
    assert request.params == {"replaces": 7, "minute": 1100}
    assert request.priority < 0


def test_repair_skips_deleted_observations() -> None:
    stream = stream_of(*(observation(f"Saw {i}.", 600 + i) for i in range(5)), reflection(1100), owner=KLAUS)
    stream.archive(3, 2)
    stream.delete([3])
    (request,) = wanted(stream)
    assert request.numbers == (1, 2, 4, 5)


def test_repair_order_is_importance_age_owner() -> None:
    streams = [day("agent:b", 6), day("agent:a", 6), day("agent:c", 8)]
    streams[0].append(reflection(1000, 6), 3)  # too few observations to repair
    assert [request.owner for request in wanted(*streams)] == ["agent:c", "agent:a", "agent:b"]


def test_final_and_deleted_entries_are_not_repaired() -> None:
    stream = day()
    stream.archive(7, 5)
    assert wanted(stream, stream_of(reflection(500, provisional=False), owner="agent:x")) == []


def test_summary_repair_needs_its_messages() -> None:
    stream = stream_of(message("Hello.", 600), message("See you at five.", 601))
    summary = Entry(
        type="summary", text="They met.", minute=601, importance=4, source="dialogue", evidence=(1, 2), provisional=True
    )
    stream.append(summary, 9)
    for number in (1, 2):
        stream.archive(number, 9, 3)
    (request,) = wanted(stream)
    assert (request.kind, request.numbers) == ("summarise", (1, 2))
    assert (request.params, request.priority) == ({"replaces": 3, "minute": 601}, -1)
    stream.delete([1])
    assert wanted(stream) == []


@pytest.mark.parametrize(("size", "count"), [(MOST_TOLD // 2, 1), (MOST_TOLD // 2 + 1, 0)])
def test_summary_repair_needs_messages_that_fit_one_prompt(size: int, count: int) -> None:
    stream = stream_of(message("x" * size, 600), message("x" * (MOST_TOLD // 2), 601))
    summary = Entry(
        type="summary", text="They met.", minute=601, importance=4, source="dialogue", evidence=(1, 2), provisional=True
    )
    stream.append(summary, 9)
    assert len(wanted(stream)) == count


@pytest.mark.parametrize(("minute", "count"), [(360 + 12 * 60, 1), (361 + 12 * 60, 0), (EVENING, 0)])
def test_plan_repair_needs_half_a_day(minute: int, count: int) -> None:
    plan = Entry(type="plan", text="Plan.", minute=360, importance=6, valid_until=360 + 1440, provisional=True)
    found = wanted(stream_of(plan), minute=minute)
    assert [(one.kind, one.priority, one.params) for one in found] == [
        ("plan", -1, {"replaces": 1, "minute": 360})
    ] * count


def test_failed_repair_pauses_repairs_of_the_owner_for_the_day() -> None:
    stream = day()
    effect = failed_repair(KLAUS, EVENING)
    apply({KLAUS: stream}, (effect,), 20)
    assert stream.head.counters[FAILED] == 1
    assert wanted(stream) == []
    assert len(wanted(stream, minute=EVENING + 1440)) == 1


@pytest.mark.parametrize(
    ("minute", "before", "time"),
    [(1200, 1199, True), (1201, 1200, False), (1190, 1189, False), (1260, 1200, True), (1440, 1430, False)],
)
def test_repair_times(minute: int, before: int, time: bool) -> None:
    assert is_time(minute, before, 1200) is time
    assert not is_time(minute, before, 1440)


@pytest.mark.parametrize("hours", [8, 24, 30 * 24])
def test_ticks_of_hours_or_days_have_repairs_at_the_end_of_each_day_that_has_a_tick(hours: int) -> None:
    step = 60 * hours
    repaired = [tick for tick in range(1, 10) if is_time(tick * step, (tick - 1) * step, 1200)]
    assert repaired == ([2, 5, 8] if hours == 8 else [*range(1, 10)])
    assert not any(is_time(tick * step, (tick - 1) * step, DAY) for tick in range(10))


def test_reflection_repair_reads_the_newest_observations() -> None:
    seen = [observation(f"Saw {i}.", 600) for i in range(MOST + 2)]
    (request,) = wanted(stream_of(*seen, reflection(1100), owner=KLAUS))
    assert request.numbers == (*range(3, MOST + 3),)


# -- admission of repairs ----------------------------------------------------------------------------

OWNERS = ("agent:a", "agent:b", "agent:c")
DAYS = {owner: day(owner, importance) for owner, importance in zip(OWNERS, (8, 7, 6), strict=True)}
MODEL = ModelOption("default", 100, Cost(calls=1))
NONE = ModelOption("", 100, Cost())


def rules(offer: ModelOption = MODEL) -> Rules:
    kinds = [Thinker(name) for name in ("plan", "reflect", "summarise")]
    return Rules(kinds=kinds, offers_of=lambda kind, tier: [offer], latency_of=lambda kind: 1, brief=lambda owner: {})


def view(calls: int = 99) -> BudgetView:
    return BudgetView(LimitTable({"run.run.calls": calls}), retry_share=0.0, guarantees={})


def too_slow() -> DueTicks:
    """Return due ticks for a model slower than every deadline."""
    known = Latencies()
    known.prior = LatencyPrior(usual={"default": 900.0})
    known.record_request("reflect", "default", 6)
    return DueTicks(
        fixed=lambda kind: 3, bounds_of=lambda kind: Bounds(1, 50), models_of=lambda kind: (), known=known, jobs={}
    )


def admitted(streams: dict[str, Stream] = DAYS, budget: BudgetView | None = None, **changed: Any) -> list[Decided]:
    chosen = {"offers_of": lambda request: [MODEL], "busy": lambda kind, owner: False, "due": fixed_ticks()} | changed
    busy = chosen.pop("busy")
    at = AdmissionRound(tick=9, minute=EVENING, view=budget or view(), **({"rules": rules()} | chosen))
    return admit_repairs(streams, at, busy)


def owners(decided: list[Decided]) -> list[str]:
    return [one.line.key.owner for one in decided]


def test_one_round_admits_the_two_most_valuable_repairs() -> None:
    budget = view()
    found = admitted(budget=budget)
    assert [one.line.key.text() for one in found] == ["9/reflect/agent:a/0/0", "9/reflect/agent:b/0/0"]
    assert {one.line.decision for one in found} == {"admitted"}
    assert budget.held["run:0|run|calls"] == 2


def test_busy_owner_is_skipped() -> None:
    assert owners(admitted(busy=lambda kind, owner: (kind, owner) == ("reflect", "agent:a"))) == ["agent:b", "agent:c"]


def test_repair_without_room_leaves_it_to_cheaper_repairs() -> None:
    costs = {"agent:a": 5, "agent:b": 1, "agent:c": 1}

    def dear(request: Request) -> list[ModelOption]:
        return [ModelOption("default", 100, Cost(calls=costs[request.owner]))]

    assert owners(admitted(budget=view(4), offers_of=dear)) == ["agent:b", "agent:c"]
    assert owners(admitted(budget=view(1), offers_of=dear)) == ["agent:b"]
    assert owners(admitted(due=too_slow())) == []


def test_run_without_model_has_no_repairs() -> None:
    assert admitted(rules=rules(NONE), offers_of=lambda request: [NONE]) == []


def test_one_repair_per_kind_and_owner_in_a_round() -> None:
    stream = stream_of(
        *(observation(f"Saw {i}.", 500 + i) for i in range(3)),
        reflection(510, 9),
        *(observation(f"Saw {i}.", 600 + i) for i in range(3)),
        reflection(1100, 8),
        owner="agent:a",
    )
    found = admitted({"agent:a": stream, "agent:c": DAYS["agent:c"]})
    assert [(one.line.key.owner, one.request.params["replaces"]) for one in found] == [("agent:a", 4), ("agent:c", 7)]


# -- an operator's retry -----------------------------------------------------------------------------


def retried(owner: str = "agent:a", numbers: tuple[int, ...] = (7,), **changed: Any) -> Decided:
    chosen = {"offers_of": lambda request: [MODEL], "busy": lambda kind, owner: False, "due": fixed_ticks()} | changed
    streams, busy, budget = chosen.pop("streams", DAYS), chosen.pop("busy"), chosen.pop("budget", None) or view()
    at = AdmissionRound(tick=9, minute=EVENING, view=budget, **({"rules": rules()} | chosen))
    return admit_retry(streams, owner, numbers, at, busy)


def test_retry_repairs_the_first_provisional_entry() -> None:
    budget = view()
    decided = retried(numbers=(3, 99, 7), budget=budget)
    assert (decided.line.key.text(), decided.request.params["replaces"]) == ("9/reflect/agent:a/0/0", 7)
    assert decided.line.decision == "admitted"
    assert budget.held["run:0|run|calls"] == 1


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"owner": "agent:z"}, "agent:z has left"),
        ({"numbers": (3,)}, "repaired or archived"),
        ({"numbers": ()}, "repaired or archived"),
        ({"streams": {"agent:a": stream_of(reflection(1100), owner="agent:a")}, "numbers": (1,)}, "too little input"),
        ({"rules": rules(NONE)}, "no model for reflect"),
        ({"busy": lambda kind, owner: (kind, owner) == ("reflect", "agent:a")}, "another reflect of agent:a is open"),
        ({"budget": view(0)}, "has no room"),
        ({"due": too_slow()}, "too slow"),
    ],
)
def test_impossible_retry_gives_a_reason_and_holds_nothing(changed: dict[str, Any], why: str) -> None:
    budget = changed.get("budget") or view()
    with pytest.raises(RepairRefused, match=why):
        retried(**({"budget": budget} | changed))
    assert not any(budget.held.values())

"""Admission: the order of requests, and the decisions on refused ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cogitate.scheduler.budget.admission import (
    DEFER_TICKS,
    MAX_TRIALS,
    AdmissionRound,
    Decided,
    DecidedLine,
    admit,
    degrade,
)
from cogitate.scheduler.budget.budget import BudgetView, Cell
from cogitate.scheduler.budget.value_round import LOW_VALUE
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.latency.due_ticks import TOO_SLOW, Bounds, DueTicks
from cogitate.scheduler.latency.latencies import Latencies, LatencyPrior
from cogitate.tasks.job import Cost, JobKey, Request, Valued
from tests.unit.scheduler.scheduler_case import Thinker, fixed_ticks

KINDS = {
    "plan": Thinker("plan", 10),
    "muse": Thinker("muse", 20, on_denied="defer"),
    "doze": Thinker("doze", 30, on_denied="drop"),
}

RULES: Any = SimpleNamespace(kind_of=KINDS.__getitem__)


def decide(
    requests: list[Request],
    calls: int,
    served: dict[tuple[str, str], int] | None = None,
    *,
    closed: str = "",
    view: BudgetView | None = None,
    models: Sequence[str] = ("",),
) -> list[Decided]:
    return admit(
        requests,
        AdmissionRound(
            7,
            7,
            view or BudgetView(LimitTable({"run.run.calls": calls}), retry_share=0.0, guarantees={}),
            RULES,
            lambda request: [ModelOption(model, 0, Cost(calls=1)) for model in models],
            fixed_ticks(),
        ),
        last_served=lambda kind, owner: (served or {}).get((kind, owner), -1),
        closed=closed,
    )


requests = st.lists(
    st.builds(
        Request,
        kind=st.sampled_from(sorted(KINDS)),
        owner=st.sampled_from(["agent:a", "agent:b", "agent:c"]),
        priority=st.integers(-2, 2),
        numbers=st.none() | st.tuples(st.integers(1, 3)),
        params=st.dictionaries(st.sampled_from("xy"), st.integers(0, 2), max_size=2),
        trial=st.integers(0, 1),
    ),
    max_size=14,
)


@given(requests, st.integers(0, 12), st.randoms(use_true_random=False))
def test_order_of_arrival_does_not_matter(requests: list[Request], calls: int, chance: random.Random) -> None:
    shuffled = list(requests)
    chance.shuffle(shuffled)
    assert decide(shuffled, calls) == decide(requests, calls)


def test_order_of_parameters_does_not_matter() -> None:
    for turned in (False, True):
        params = [{"x": 0, "y": 1}, {"y": 0, "x": 1}] if turned else [{"y": 1, "x": 0}, {"x": 1, "y": 0}]
        asked = [Request(kind="plan", owner="agent:a", params=one) for one in params]
        assert [d.request.params["x"] for d in decide(asked, 1)] == [0, 1]


def test_closed_run_admits_nothing() -> None:
    asked = [Request(kind=kind, owner="agent:a") for kind in KINDS]
    decided = decide(asked, 99, closed="draining")
    assert [(d.line.decision, d.line.refused) for d in decided] == [
        (decision, "draining") for decision in ("heuristic", "deferred", "dropped")
    ]
    assert [(d.grant, d.ahead, d.line.model) for d in decided] == [(None, 0, "")] * 3


def test_admitted_request_counts_as_a_job_and_names_its_model() -> None:
    view = BudgetView(LimitTable({"run.run.jobs": 1}), retry_share=0.0, guarantees={})
    asked = [Request(kind="plan", owner=owner) for owner in ("agent:a", "agent:b")]
    first, second = decide(asked, 0, view=view, models=("small",))
    assert (first.line.model, first.line.decision, first.offer.model) == ("small", "admitted", "small")
    assert (second.line.model, second.line.refused) == ("", "run:0 run jobs")
    assert view.get(Cell("run:0", "run"), "jobs") == 1


@given(requests, st.integers(0, 12))
def test_every_request_is_decided_once(requests: list[Request], calls: int) -> None:
    decided = decide(requests, calls)
    assert len({d.line.key for d in decided}) == len(requests)
    assert sorted(map(repr, requests)) == sorted(repr(d.request) for d in decided)
    for d in decided:
        assert (d.line.decision == "admitted") == (d.line.refused == "")
        assert (d.line.decision == "deferred") == (d.line.successor is not None)
    admitted = [d for d in decided if d.line.decision == "admitted"]
    assert len(admitted) == min(len(requests), calls)


def test_scarce_budget_goes_by_kind_priority_service_and_owner() -> None:
    asked = [
        Request(kind="doze", owner="agent:a", priority=9),
        Request(kind="muse", owner="agent:a"),
        Request(kind="muse", owner="agent:c"),
        Request(kind="muse", owner="agent:b"),
        Request(kind="muse", owner="agent:d", priority=1),
        Request(kind="plan", owner="agent:z"),
    ]
    decided = decide(asked, 99, {("muse", "agent:a"): 5, ("plan", "agent:b"): 9})
    assert [(d.line.key.kind, d.line.key.owner[-1]) for d in decided] == [
        ("plan", "z"),
        ("muse", "d"),
        ("muse", "b"),
        ("muse", "c"),
        ("muse", "a"),
        ("doze", "a"),
    ]


def test_each_kind_has_its_own_ladder() -> None:
    asked = [Request(kind=kind, owner="agent:a") for kind in KINDS]
    assert [(d.line.key.kind, d.line.decision) for d in decide(asked, 0)] == [
        ("plan", "heuristic"),
        ("muse", "deferred"),
        ("doze", "dropped"),
    ]
    tries = [Request(kind="muse", owner="agent:a", trial=trial) for trial in range(MAX_TRIALS)]
    assert [degrade("defer", one, "run") for one in tries] == ["deferred", "deferred", "heuristic"]
    assert [degrade("drop", one, "run") for one in tries] == ["dropped"] * MAX_TRIALS


def test_request_that_would_miss_its_deadline_is_not_deferred() -> None:
    soon, later = (Request(kind="muse", owner="agent:a", within=DEFER_TICKS + more) for more in (0, 1))
    assert [degrade("defer", one, "run") for one in (soon, later)] == ["heuristic", "deferred"]
    assert degrade("defer", later, TOO_SLOW) == "heuristic"


def test_deferred_request_is_tried_again_at_most_twice() -> None:
    trials, tick = [Request(kind="muse", owner="agent:a")], 7
    for trial in (1, 2):
        (deferred,) = decide(trials, 0)
        assert (deferred.line.decision, deferred.line.due) == ("deferred", 0)
        assert deferred.line.successor == JobKey(tick + 10, "muse", "agent:a", 0, trial)
        trials = [Request(kind="muse", owner="agent:a", trial=trial)]
    (last,) = decide(trials, 0)
    assert (last.line.decision, last.line.successor) == ("heuristic", None)
    assert last.line.due > tick, "a heuristic has a due tick"


def test_entry_numbers_break_ties() -> None:
    asked = [Request(kind="plan", owner="agent:a", numbers=numbers) for numbers in ((10,), (9, 11), (9,))]
    assert [d.request.numbers for d in decide(asked, 9)] == [(9,), (9, 11), (10,)]


def test_heuristic_job_has_no_queue_ahead() -> None:
    decided = decide([Request(kind="plan", owner=f"agent:{n}") for n in range(3)], calls=3)
    assert [(one.line.decision, one.offer.model, one.ahead) for one in decided] == [("admitted", "", 0)] * 3


def test_refused_request_holds_nothing_and_names_the_cell() -> None:
    (refused,) = decide([Request(kind="plan", owner="agent:a")], 0)
    assert (refused.grant, refused.line.refused) == (None, "run:0 run calls")
    (admitted,) = decide([Request(kind="plan", owner="agent:a")], 5)
    assert admitted.grant is not None
    assert admitted.grant.reserved == Cost(calls=1)
    assert Cell("run:0", "run") in admitted.grant.cells


def test_successor_keys_match_the_later_decisions() -> None:
    asked = [Request(kind="muse", owner="agent:a", priority=p, params={"p": p}) for p in (3, 2, 1)]
    first = decide(asked, 1)
    assert [d.line.decision for d in first] == ["admitted", "deferred", "deferred"]
    successors = [d.line.successor for d in first[1:]]
    assert successors == [JobKey(7 + DEFER_TICKS, "muse", "agent:a", ordinal, 1) for ordinal in (0, 1)]
    again = [Request(kind="muse", owner="agent:a", priority=p, params={"p": p}, trial=1) for p in (1, 2)]
    decided = [(d.line.key.ordinal, d.line.key.trial, d.request.params["p"]) for d in decide(again, 0)]
    assert decided == [(0, 1, 2), (1, 1, 1)]


def test_ahead_counts_jobs_in_flight_of_the_kind_and_model() -> None:
    known = Latencies()
    known.prior = LatencyPrior(usual={"small": 4.0, "large": 4.0}, queue={"small": 2.0, "large": 2.0})
    due = DueTicks(
        fixed=lambda kind: 3, bounds_of=lambda kind: Bounds(1, 500), models_of=lambda kind: (), known=known, jobs={}
    )
    asked = [Request(kind=kind, owner=f"agent:{n}") for kind in ("plan", "muse") for n in range(3)]
    view = BudgetView(LimitTable({}), retry_share=0.0, guarantees={})

    def offers(request: Request) -> list[ModelOption]:
        return [ModelOption("small" if request.owner != "agent:2" else "large", 9, Cost(calls=1))]

    decided = admit(
        asked,
        AdmissionRound(7, 7, view, RULES, offers, due),
        last_served=lambda kind, owner: -1,
    )
    assert [(d.line.key.kind, d.offer.model, d.ahead) for d in decided] == [
        (kind, model, ahead) for kind in ("plan", "muse") for model, ahead in (("small", 0), ("small", 1), ("large", 0))
    ]
    waits = [d.line.due - 7 for d in decided]
    assert waits[1] == waits[0] + 2, "one more in the queue"
    assert waits[2] == waits[0]
    assert known.since("plan", "small") == 7


def test_slow_model_is_skipped() -> None:
    known = Latencies()
    known.prior = LatencyPrior(usual={"slow": 900.0, "quick": 1.0})
    due = DueTicks(
        fixed=lambda kind: 3, bounds_of=lambda kind: Bounds(1, 50), models_of=lambda kind: (), known=known, jobs={}
    )
    known.record_request("plan", "slow", 6)

    def decided(*models: str) -> Decided:
        view = BudgetView(LimitTable({}), retry_share=0.0, guarantees={})
        (one,) = admit(
            [Request(kind="plan", owner="agent:a")],
            AdmissionRound(
                7, 7, view, RULES, lambda request: [ModelOption(model, 9, Cost(calls=1)) for model in models], due
            ),
            last_served=lambda kind, owner: -1,
        )
        return one

    slow = decided("slow")
    assert slow.line == DecidedLine(key=slow.line.key, decision="heuristic", refused=TOO_SLOW, due=8)
    assert slow.offer.model == "slow"
    quick = decided("slow", "quick")
    assert (quick.line.decision, quick.line.refused, quick.offer.model) == ("admitted", "", "quick")
    assert decided("slow", "").line.decision == "admitted", "the heuristic is never too slow"


def test_spending_by_value_judges_each_call() -> None:
    worth = SimpleNamespace(value=1)
    values: Any = SimpleNamespace(
        begin=lambda requests: None,
        of=lambda request: worth,
        affords=lambda key, request, cost, cells: request.owner != "agent:1",
        valued=lambda key, request: Valued(request.owner == "agent:2"),
    )
    at = AdmissionRound(
        7,
        7,
        BudgetView(LimitTable({}), retry_share=0.0, guarantees={}),
        RULES,
        lambda request: [ModelOption("small", 0, Cost(calls=1))],
        fixed_ticks(),
        values,
    )
    asked = [Request(kind="plan", owner=f"agent:{number}") for number in range(3)]
    decided = admit(asked, at, last_served=lambda kind, owner: -1)
    assert [(d.line.decision, d.line.refused, d.valued) for d in decided] == [
        ("admitted", "", Valued(False)),
        ("heuristic", LOW_VALUE, None),
        ("admitted", "", Valued(True)),
    ]

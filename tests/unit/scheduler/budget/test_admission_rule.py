"""Admission decides job for job as its rule, written here one request, one cell and one unit at a time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from cogitate.scheduler.budget.admission import AdmissionRound, admit
from cogitate.scheduler.budget.budget import BudgetView, Guarantee
from cogitate.scheduler.config.limits import LimitTable
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.tasks.job import Cost, Request
from tests.unit.scheduler.scheduler_case import Thinker, fixed_ticks

DAY = 1_440
KINDS = {
    "plan": Thinker("plan", 10),
    "muse": Thinker("muse", 20, on_denied="defer"),
    "doze": Thinker("doze", 30, on_denied="drop"),
}
RULES: Any = SimpleNamespace(kind_of=KINDS.__getitem__)
OWNERS = tuple(f"agent:{letter}" for letter in "abcdefgh")
UNITS = ("calls", "tokens", "usd_micros", "jobs")
DUE, LATER = 3, 10  # ticks until a result, and until another trial
AT, WITHIN = {"agent:b": 90}, {"agent:d": 2, "agent:e": 12}  # ticks, of the requests for these owners
SHARED = ("run", "kind:*", "kind:plan")
SCOPES = (*SHARED, "owner:*", "owner:agent:b")


class Rule(NamedTuple):
    """What the rule knows: limits, guarantees until a minute of the day, and what is held."""

    limits: Mapping[str, int]
    retry_share: float
    guarantees: Mapping[str, tuple[float, int]]
    held: Counter[tuple[str, str, str]]  # by window, scope and unit

    def limit(self, period: str, scope: str, unit: str) -> int | None:
        of_all = f"{period}.{scope.partition(':')[0]}:*.{unit}" if ":" in scope else ""
        return self.limits.get(f"{period}.{scope}.{unit}", self.limits.get(of_all))

    def room(self, period: str, scope: str, unit: str) -> int | None:
        limit = self.limit(period, scope, unit)
        kept = unit != "jobs" and limit is not None and limit > 1
        return limit if limit is None or not kept else limit - int(limit * self.retry_share)

    def cells(self, request: Request, tick: int, minute: int) -> list[tuple[str, str, str]]:
        """The accounts of a job by period, window and scope: those with a limit, and those that reports show."""
        found = []
        for period, index in (("tick", tick), ("day", minute // DAY), ("run", 0)):
            for scope in ("run", f"kind:{request.kind}", f"owner:{request.owner}"):
                limited = any(self.limit(period, scope, unit) is not None for unit in UNITS)
                shown = (period, scope) in (("day", "run"), ("day", f"kind:{request.kind}"), ("run", "run"))
                if limited or shown:
                    found.append((period, f"{period}:{index}", scope))
        return found

    def refusal(self, request: Request, tick: int, minute: int, amounts: Mapping[str, int]) -> str:
        for period, window, scope in self.cells(request, tick, minute):
            for unit in UNITS:
                room = self.room(period, scope, unit)
                if not amounts[unit] or room is None:
                    continue
                if self.demand(period, window, scope, unit, request.kind, minute, amounts[unit], room) > room:
                    return f"{window} {scope} {unit}"
        return ""

    def demand(
        self, period: str, window: str, scope: str, unit: str, kind: str, minute: int, amount: int, room: int
    ) -> int:
        if (period, scope) != ("day", "run"):
            return self.held[window, scope, unit] + amount
        total, others = 0, self.held[window, scope, unit] + amount
        for name, (share, last_call) in self.guarantees.items():
            own = self.held[window, f"kind:{name}", unit]
            others -= own + (amount if name == kind else 0)
            promised = int(share * room) if minute % DAY < last_call else 0
            total += max(own + (amount if name == kind else 0), promised)
        return total + others


def decided_by(rule: Rule, requests: Sequence[Request], options: Sequence[ModelOption], tick: int, closed: str) -> Any:
    """What becomes of each request: its owner, kind and ordinal, the decision, the model, and why it was refused."""
    minute, found = tick * 10, []
    ordinals: Counter[tuple[str, str, int]] = Counter()
    for request in sorted(
        requests,
        key=lambda one: (
            KINDS[one.kind].order,
            -one.priority,
            one.owner,
            one.trial,
            one.numbers or (),
            json.dumps(one.params, sort_keys=True),
        ),
    ):
        slot = (request.kind, request.owner, request.trial)
        ordinal, refused, model = ordinals[slot], closed, ""
        ordinals[slot] += 1
        for option in () if closed else options:
            cost = option.cost
            amounts = dict(zip(UNITS, (cost.calls, cost.tokens, cost.usd_micros, 1), strict=True))
            refused = rule.refusal(request, tick, minute, amounts)
            if not refused:
                model = option.model
                for _, window, scope in rule.cells(request, tick, minute):
                    for unit in UNITS:
                        rule.held[window, scope, unit] += amounts[unit]
                break
        decision = "admitted"
        if refused:
            decision = {"plan": "heuristic", "muse": "deferred", "doze": "dropped"}[request.kind]
        if decision == "deferred" and (request.trial == 2 or 0 < request.within <= LATER):
            decision = "heuristic"
        due = max(request.at, tick + min(DUE, request.within or DUE)) if decision in ("admitted", "heuristic") else 0
        found.append((request.owner, request.kind, ordinal, request.trial, decision, model, due, refused))
    return found


periods = st.sampled_from(["tick", "day", "run"])


def named(scopes: Sequence[str]) -> st.SearchStrategy[str]:
    return st.builds("{}.{}.{}".format, periods, st.sampled_from(scopes), st.sampled_from(UNITS))


of_the_day = st.dictionaries(st.sampled_from(["day.run.jobs", "day.run.tokens"]), st.integers(4, 30))  # are shared out
limits = st.builds(
    lambda one, other: {**one, **other},
    st.sampled_from([SHARED, SCOPES]).flatmap(lambda of: st.dictionaries(named(of), st.integers(0, 30), max_size=4)),
    of_the_day,
)
shares = st.tuples(st.sampled_from([0.1, 0.25, 0.3]), st.sampled_from([60, 600, DAY]))
guarantees = st.dictionaries(st.sampled_from(sorted(KINDS)), shares, max_size=3)
costs = st.builds(Cost, st.integers(0, 2), st.integers(0, 3), st.integers(0, 3))
ladders = st.lists(st.builds(ModelOption, st.sampled_from(["", "m", "n"]), st.just(0), costs), min_size=1, max_size=3)
requests = st.lists(
    st.builds(
        lambda owner, **more: Request(owner=owner, at=AT.get(owner, 0), within=WITHIN.get(owner, 0), **more),
        kind=st.sampled_from(sorted(KINDS)),
        owner=st.sampled_from(OWNERS),
        priority=st.integers(-1, 1),
        numbers=st.none() | st.tuples(st.integers(1, 2)),
        params=st.dictionaries(st.sampled_from("xy"), st.integers(0, 2), max_size=1),
        trial=st.integers(0, 2),
    ),
    max_size=12,
)
crowds = st.builds(  # differ in little, so that many are decided at once
    lambda kind, owners: [Request(kind=kind, owner=owner, priority=5) for owner in owners],
    st.sampled_from(sorted(KINDS)),
    st.lists(st.integers(0, 99).map("agent:{:02}".format), unique=True, max_size=30),
)
closings = st.sampled_from(["", "", "", "draining"])
asked = st.builds(lambda some, crowd: [*some, *crowd], requests, crowds | st.just([]))
ticks = st.lists(st.tuples(st.integers(1, 150), asked, ladders, closings), max_size=5)


def options_of(ladder: Sequence[ModelOption], request: Request) -> Sequence[ModelOption]:
    return ladder


@given(limits, st.sampled_from([0.0, 0.2, 0.5]), guarantees, ticks)
def test_each_request_is_decided_as_the_rule_says(
    limits: dict[str, int],
    retry_share: float,
    guarantees: dict[str, tuple[float, int]],
    ticks: list[tuple[int, list[Request], list[ModelOption], str]],
) -> None:
    promised = {kind: Guarantee(*share) for kind, share in guarantees.items()}
    view = BudgetView(LimitTable(limits), retry_share=retry_share, guarantees=promised)
    rule = Rule(limits, retry_share, guarantees, Counter())
    for tick, asked, ladder, closed in ticks:
        at = AdmissionRound(tick, tick * 10, view, RULES, partial(options_of, ladder), fixed_ticks(DUE))
        found = admit(asked, at, last_served=lambda kind, owner: -1, closed=closed)
        lines = [
            (line.key.owner, line.key.kind, *line.key[3:], line.decision, line.model, line.due, line.refused)
            for line in (d.line for d in found)
        ]
        assert lines == decided_by(rule, asked, ladder, tick, closed)
        for d in found:
            if d.grant is not None:
                cells = [(window, scope) for _, window, scope in rule.cells(d.request, tick, tick * 10)]
                assert [*d.grant.cells] == cells
        assert {field: amount for field, amount in view.held.items() if amount} == {
            "|".join(account): amount for account, amount in rule.held.items() if amount
        }

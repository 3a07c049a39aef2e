"""Decide which requests of a tick the limits afford, by the value of their calls.

`cogitate.scheduler.budget.call_value` estimates the values. Admission forecasts the demand on each daily limit, and on
a run's limits if its end is known: from the previous day's requests after this hour, or from today's so far. An owner
has one first thought of a kind a day, so the forecast has at most as many first thoughts as owners without one. If the
rest of a limit covers only a share of the demand, admission grants the same share of the requests: those with the
highest values, compared with the values seen so far. One call in `CHECKS`, drawn by a hash of its key, passes at any
value; from these calls the run reports expected and found changes without selection bias.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

from cogitate.scheduler.budget.budget import BudgetView, Cell, amounts
from cogitate.scheduler.budget.call_value import CHECKS, FULL, CallValues, Worth, least_of, step_of
from cogitate.scheduler.config.limits import LIMIT_UNITS, LimitUnit
from cogitate.tasks.job import Cost, JobKey, Request, Valued

LOW_VALUE = "low_value"  # the refusal of a request whose value is below what the limits afford
_MILLION = 1_000_000


class ExpectedSteps(NamedTuple):
    """Expected requests, in thousandths, by the step of their value.

    After `n` requests, one in `n` + 1 exceeds all values seen so far (Laplace's rule of succession).
    """

    steps: Mapping[int, int]
    above_firsts: int  # owners' first thoughts above all values seen so far
    above_others: int  # later thoughts above all values seen so far

    @property
    def total(self) -> int:
        return sum(self.steps.values()) + self.above_firsts + self.above_others


class ValueRound:
    """The values of one tick's requests, and the decision which of them the limits afford."""

    def __init__(
        self,
        values: CallValues,
        view: BudgetView,
        minute: int,
        *,
        worth_of: Callable[[Request], Worth | None],
        kinds: Mapping[str, bool],
        owners: int,
        last: int | None,
    ) -> None:
        """Begin the round of a tick.

        Args:
            worth_of: returns the value of a request; None if its kind asks no model.
            kinds: the kinds that ask a model; True: each owner has the kind once a day.
            owners: number of owners.
            last: the run's last minute; None: unknown.
        """
        self._values, self._view, self._minute = values, view, minute
        self._worth_of, self._kinds, self._owners, self._last = worth_of, kinds, max(1, owners), last
        self._worths: dict[int, Worth | None] = {}
        self._checks: set[JobKey] = set()
        self._new: Counter[str] = Counter()  # requests of this tick by kind
        self._demands: dict[tuple[str, LimitUnit, bool], int] = {}
        self._steps: dict[str, ExpectedSteps] = {}

    def begin(self, requests: Iterable[Request]) -> None:
        """Count all requests of the tick before any is decided."""
        for request in requests:
            worth = self._worths[id(request)] = self._worth_of(request)
            if worth is not None and not request.trial:
                self._values.count(request.kind, worth.step, self._minute)
                self._new[request.kind] += 1

    def of(self, request: Request) -> Worth | None:
        """Return the value of a request of this tick."""
        return self._worths[id(request)]

    def affords(self, key: JobKey, request: Request, cost: Cost, cells: Iterable[Cell]) -> bool:
        """Return whether the limits afford a call of this value; checks and calls within a guarantee always pass."""
        worth = self.of(request)
        if worth is None:
            return True
        shares = {}
        if not self._view.is_guaranteed(key.kind, self._minute, cost):
            shares = {cell: self._share(key.kind, cell, cost) for cell in cells if self._is_paced(cell)}
        is_check = _drawn(key, b"check") % _MILLION * CHECKS < min(shares.values(), default=_MILLION)
        if is_check:
            self._checks.add(key)
        afforded = is_check or all(
            share >= _MILLION or self._is_among(key, worth, cell.scope, share) for cell, share in shares.items()
        )
        if afforded and worth.is_first:
            self._values.count_first(key.kind)
        return afforded

    def valued(self, key: JobKey, request: Request) -> Valued | None:
        """Return whether an affordable call checks the estimate; None if its kind asks no model."""
        worth = self.of(request)
        return None if worth is None else Valued(key in self._checks)

    def _is_paced(self, cell: Cell) -> bool:
        paced = cell.period == "day" or (cell.period == "run" and self._last is not None)
        return paced and self._view.table.limited(cell.period, cell.scope)

    def _share(self, kind: str, cell: Cell, cost: Cost) -> int:
        """Return the share of the expected demand that a limit can pay for, in millionths."""
        share = _MILLION
        for unit, amount in zip(LIMIT_UNITS, (*amounts(cost), 1), strict=True):
            spare = self._view.spare(cell, unit, kind, self._minute) if amount else None
            if spare is not None:
                demand = self._demand(cell.scope, unit, amount, whole_run=cell.period == "run")
                share = min(share, _MILLION * max(0, spare) // demand)
        return share

    def _is_among(self, key: JobKey, worth: Worth, scope: str, share: int) -> bool:
        """Return whether a call is in the top `share`, in millionths, of the expected values; lots break ties."""
        expected = self._expected_steps(scope)
        own = self._value_step(key.kind, worth.step, is_first=worth.is_first)
        higher = expected.above_firsts + sum(count for step, count in expected.steps.items() if step > own)
        if not worth.is_first:
            higher += expected.above_others
        allowed = share * expected.total - higher * _MILLION
        return allowed > 0 and _drawn(key, b"tie") % _MILLION * expected.steps.get(own, 1) < allowed

    def _expected_steps(self, scope: str) -> ExpectedSteps:
        """Return the expected requests under a limit by the step of their value."""
        name = scope if scope.startswith("kind:") else ""
        if name not in self._steps:
            steps, above = Counter[int](), Counter[bool]()
            for kind, known in self._values.state.steps.items():
                if name in ("", f"kind:{kind}") and kind in self._kinds:
                    number, seen = FULL * self._expected(kind, whole_run=False), sum(known.values())
                    firsts = min(number, FULL * max(0, self._owners - self._values.state.firsts.get(kind, 0)))
                    for is_first, expected in ((True, firsts), (False, number - firsts)):
                        for step, count in known.items():
                            steps[self._value_step(kind, step, is_first=is_first)] += count * expected // (seen + 1)
                        above[is_first] += expected // (seen + 1)
            self._steps[name] = ExpectedSteps(steps, above[True], above[False])
        return self._steps[name]

    def _value_step(self, kind: str, step: int, *, is_first: bool) -> int:
        """Return the step of a call's value, given the step of its need."""
        return step_of(self._values.valued(kind, least_of(step), is_first=is_first))

    def _expected(self, kind: str, *, whole_run: bool) -> int:
        """Return the expected requests of a kind, in this tick and later."""
        once, last = self._owners if self._kinds[kind] else None, self._last if whole_run else None
        return self._new[kind] + self._values.demand(kind, self._minute, once=once, last=last)

    def _demand(self, scope: str, unit: LimitUnit, amount: int, *, whole_run: bool) -> int:
        """Return how much of a limit the requests of this tick and later are expected to use, at least 1."""
        scope = "owner" if scope.startswith("owner:") else scope
        demand = self._demands.get((scope, unit, whole_run))
        if demand is None:
            kinds = (kind for kind in self._kinds if scope in ("run", "owner", f"kind:{kind}"))
            total = sum(
                self._expected(kind, whole_run=whole_run) * self._mean_cost(kind, unit, amount) for kind in kinds
            )
            self._demands[scope, unit, whole_run] = demand = total // (self._owners if scope == "owner" else 1)
        return max(demand, 1)

    def _mean_cost(self, kind: str, unit: LimitUnit, amount: int) -> int:
        if unit in ("calls", "jobs"):
            return 1
        answers, tokens, usd = self._values.state.costs.get(kind, (0, 0, 0))
        return (tokens if unit == "tokens" else usd) // answers if answers else amount


def _drawn(key: JobKey, purpose: bytes) -> int:
    return int.from_bytes(blake2b(key.text().encode(), digest_size=8, person=purpose).digest(), "big")

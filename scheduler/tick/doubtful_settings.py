"""Settings that are possible and probably not meant: prices in dollars, limits below what one job reserves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import structlog

from cogitate.scheduler.budget.budget import BudgetView, amounts, figure_of
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.limits import PERIODS, UNITS, LimitName, LimitUnit
from cogitate.scheduler.config.settings import Settings
from cogitate.tasks.job import Cost

log = structlog.get_logger()

_LEAST_PRICE = 1_000  # micro-dollars per million tokens: a tenth of a cent, below every paid model
_UNIT = "prices are micro-dollars per million tokens"


class _Unaffordable(NamedTuple):
    """A limit that has no room for a single job of a kind, and what one reserves at least."""

    limit: LimitName
    room: int
    kind: str
    reserved: int


def tell_low_prices(run: str, settings: Settings) -> None:
    """Warn of stated prices that are probably in dollars."""
    for price in settings.prices() if settings.llm == "openai" else ():
        given = (("input_price", price.input), ("output_price", price.output))
        low = {name: value for name, value in given if value is not None and 0 < value < _LEAST_PRICE}
        if low and price.origin == "stated":
            name, value = next(iter(low.items()))
            log.warning(
                "price.too_low",
                run=run,
                model=price.model,
                prices=low,
                then=f"{_UNIT}: if you mean ${value}, set {name} = {value * 1_000_000:_}",
            )


def tell_small_limits(run: str, rules: Rules, view: BudgetView) -> None:
    """Warn of each limit that refuses every job of a kind, as a single one reserves more than it gives out."""
    found: dict[LimitName, list[_Unaffordable]] = {}
    for one in _unaffordable(rules, view):
        found.setdefault(one.limit, []).append(one)
    for limit, kinds in found.items():
        least, figure = min(kinds, key=lambda one: (one.reserved, one.kind)), figure_of(limit.unit)
        log.warning(
            "limit.too_small",
            run=run,
            limit=limit.text(),
            room=figure(least.room),
            kinds=sorted(one.kind for one in kinds),
            reserved=f"{figure(least.reserved)} by one {least.kind}",
            then="each of these jobs is refused: raise the limit, or lower the kind's prompt_cap or output_cap",
        )


def _unaffordable(rules: Rules, view: BudgetView) -> Iterator[_Unaffordable]:
    for kind in rules.kinds:
        options = [] if kind.name in rules.disabled else [one for one in rules.offers_of(kind, "routine") if one.model]
        if not options:
            continue
        for number, unit in enumerate(UNITS):
            reserved = min(_amount(one.cost, number) for one in options)
            yield from _below(view, kind.name, unit, reserved)


def _below(view: BudgetView, kind: str, unit: LimitUnit, reserved: int) -> Iterator[_Unaffordable]:
    for period in PERIODS:
        for scope in ("run", f"kind:{kind}", "owner:*"):
            room = view.room(period, scope, unit)
            if room is not None and 0 < room < reserved:  # 0 forbids spending, which is meant
                yield _Unaffordable(LimitName(period, scope, unit), room, kind, reserved)


def _amount(cost: Cost, unit: int) -> int:
    return amounts(cost)[unit]

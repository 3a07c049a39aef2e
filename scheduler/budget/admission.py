"""Admission: it decides which of a tick's requests become jobs, and degrades those that the budget refuses.

The ladder goes down model by model, then to the heuristic, and from there by kind: later, or not at all. Scarce budget
goes by kind, then by priority, then to the owner that was served longest ago, then by owner: never by order of arrival.
A model whose answer would come too late is not asked: see `cogitate.scheduler.latency.due_ticks`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from cogitate.scheduler.budget.budget import BudgetView, Cell
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.latency.due_ticks import TOO_SLOW, DueTicks
from cogitate.tasks.job import Cost, JobKey, Request
from cogitate.tasks.kind import Kind, OnDenied

Decision = Literal["admitted", "heuristic", "deferred", "dropped"]

DEFER_TICKS = 10  # a deferred request is tried again after this many ticks
MAX_TRIALS = 3  # a request deferred this often is not deferred again: its heuristic applies


class DecidedLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision on one request, as the journal's line holds it and its digest covers it.

    It stays apart from `Grant`, which the digest does not cover, and from `Job`, which is what a worker reads.
    """

    key: JobKey
    decision: Decision
    model: str = ""  # that was given to an admitted job; empty: it asks none
    due: int = 0  # the tick whose boundary applies it; 0: it is deferred or dropped
    refused: str = ""  # the cell that had no room, or "too_slow", "draining", "away" or "left"
    successor: JobKey | None = None  # of a deferred request: its next trial, unless its owner leaves before


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The grant of admission to a job: the reservation of its first attempt, and the cells that it is charged to."""

    key: JobKey
    reserved: Cost
    cells: tuple[Cell, ...]


class Decided(NamedTuple):
    """A decided request, until its tick has opened its job or deferred it."""

    line: DecidedLine
    request: Request
    offer: ModelOption  # that the job gets; of a refused request the last one that was tried
    grant: Grant | None = None  # of an admitted one
    ahead: int = 0  # jobs of its kind and model that were in flight


def admit(
    requests: Sequence[Request],
    *,
    tick: int,
    minute: int,
    view: BudgetView,
    kind_of: Callable[[str], Kind],
    offers_of: Callable[[Request], Sequence[ModelOption]],
    last_served: Callable[[str, str], int],
    due: DueTicks,
    closed: str = "",
    called: Sequence[Request] = (),
) -> list[Decided]:
    """Decide a tick's requests in canonical order, and hold the cost of admitted ones in `view`.

    Args:
        offers_of: the options of a request, the best first.
        last_served: the tick at which (kind, owner) was last admitted, -1 if never.
        due: the run's due ticks.
        closed: why the run admits nothing at all, given as the reason of each refusal.
        called: those of `requests` that the host made, in the order of its calls, by which it knows their ids.
    """
    ordered = sorted(
        requests,
        key=lambda r: (
            kind_of(r.kind).order,
            -r.priority,
            last_served(r.kind, r.owner),
            r.owner,
            r.trial,
            r.numbers or (),
            msgspec.json.encode(r, order="deterministic"),
        ),
    )
    ordinals: Counter[tuple[str, str, int]] = Counter()
    known: dict[int, int] = {}  # the ordinals of the host's own requests, by identity
    for request in called:
        slot = (request.kind, request.owner, request.trial)
        known[id(request)] = ordinals[slot]
        ordinals[slot] += 1
    deferred: Counter[tuple[str, str, int]] = Counter()
    decided = []
    for request in ordered:
        slot = (request.kind, request.owner, request.trial)
        ordinal = known.get(id(request))
        if ordinal is None:
            ordinal = ordinals[slot]
            ordinals[slot] += 1
        key = JobKey(tick, request.kind, request.owner, ordinal, request.trial)
        kind = kind_of(request.kind)
        offers = offers_of(request)
        fit = Fit(offers[-1], 0, closed) if closed else first_fitting(view, key, minute, request, offers, due)
        if not fit.refused:
            decided.append(hold(view, key, request, fit, due))
        else:
            decision, successor = degrade(kind.on_denied, request, fit.refused), None
            if decision == "deferred":
                # The ordinal at that tick: requests of one slot are tried again together, in the same order.
                successor = JobKey(tick + DEFER_TICKS, key.kind, key.owner, deferred[slot], key.trial + 1)
                deferred[slot] += 1
            due_tick = due.fallback_due(request, tick, fit.refused) if decision == "heuristic" else 0
            line = DecidedLine(key=key, decision=decision, due=due_tick, refused=fit.refused, successor=successor)
            decided.append(Decided(line, request, fit.offer))
    return decided


class Fit(NamedTuple):
    """The option that a request gets."""

    offer: ModelOption
    due: int  # tick
    refused: str  # why the option is not possible after all; "" if it is
    cells: tuple[Cell, ...] = ()  # that the job is charged to, if it is possible


def first_fitting(
    view: BudgetView, key: JobKey, minute: int, request: Request, offers: Sequence[ModelOption], due: DueTicks
) -> Fit:
    """Return the first option that is in time and has room; if none does, the last one with what refused it."""
    refused, cells = "", tuple(view.cells(key, minute))
    for offer in offers:
        tick = due.due_of(request, key.tick, offer)
        if tick is None:
            refused = TOO_SLOW
            continue
        cell = view.refusal(key, minute, offer.cost, cells)
        if cell is None:
            return Fit(offer, tick, "", cells)
        refused = cell
    return Fit(offers[-1], 0, refused)


def hold(view: BudgetView, key: JobKey, request: Request, fit: Fit, due: DueTicks) -> Decided:
    """Admit a request with an option that fits, and hold its cost."""
    offer, cells = fit.offer, fit.cells
    view.count(cells)
    view.move(cells, Cost(), offer.cost)
    ahead = due.ahead(key.kind, offer.model, key.tick) if offer.model else 0
    due.record_admission(key.kind, offer.model, key.tick)
    line = DecidedLine(key=key, decision="admitted", model=offer.model, due=fit.due)
    return Decided(line, request, offer, Grant(key=key, reserved=offer.cost, cells=cells), ahead)


def degrade(policy: OnDenied, request: Request, refused: str) -> Decision:
    """Return the decision on a refused request; a request that would now come too late is not deferred."""
    if policy == "drop":
        return "dropped"
    in_time = not request.within or request.within > DEFER_TICKS
    if policy == "defer" and request.trial + 1 < MAX_TRIALS and refused != TOO_SLOW and in_time:
        return "deferred"
    return "heuristic"

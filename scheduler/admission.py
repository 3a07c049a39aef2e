"""Admission: which of a tick's requests become jobs, and how those that budget refuses are degraded.

The ladder goes down model by model, to the heuristic, and from there by kind: later, or not at all. Scarce budget goes
by kind, then by priority, then to who was served longest ago, then by owner: never by the order in which requests
happened to arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from scheduler.budget import BudgetView, Cell
from scheduler.tiers import Offer
from tasks.job import Cost, JobKey, Request
from tasks.kind import Kind, OnDenied

Decision = Literal["admitted", "heuristic", "deferred", "dropped"]

DEFER_TICKS = 10  # a deferred request is tried again after this many ticks
MAX_TRIALS = 3  # a request deferred this often is not deferred again: its heuristic applies


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided of one request."""

    key: JobKey
    request: Request
    decision: Decision
    cost: Cost  # reserved for the first attempt; nothing unless admitted
    cells: tuple[Cell, ...]
    model: str  # what it may ask; empty: the heuristic is what was asked for
    prompt_cap: int  # tokens
    refused: str = ""  # the cell that had no room, or "draining", or "away"
    successor: JobKey | None = None  # the next trial of a deferred request


def admit(
    requests: Sequence[Request],
    *,
    tick: int,
    minute: int,
    view: BudgetView,
    kind_of: Callable[[str], Kind],
    offers_of: Callable[[Request], Sequence[Offer]],
    last_served: Callable[[str, str], int],
    closed: str = "",
) -> list[Decided]:
    """Decide a tick's requests in canonical order; what is admitted is held in `view`.

    Args:
        offers_of: what a request may be given, the best first.
        last_served: the tick at which (kind, owner) was last admitted, -1 if never.
        closed: why nothing at all is admitted; it is given as what refused.
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
    )  # fmt: skip
    ordinals: Counter[tuple[str, str, int]] = Counter()
    deferred: Counter[tuple[str, str, int]] = Counter()
    decided = []
    for request in ordered:
        slot = (request.kind, request.owner, request.trial)
        key = JobKey(tick, request.kind, request.owner, ordinals[slot], request.trial)
        ordinals[slot] += 1
        kind = kind_of(request.kind)
        offers = offers_of(request)
        offer, refused = (offers[-1], closed) if closed else first_fitting(view, key, minute, offers)
        if not refused:
            decided.append(hold(view, key, minute, request, offer))
        else:
            decision, successor = degrade(kind.on_denied, request.trial), None
            if decision == "deferred":
                # Its ordinal then: those of one slot are tried again together, in the same order.
                successor = JobKey(tick + DEFER_TICKS, key.kind, key.owner, deferred[slot], key.trial + 1)
                deferred[slot] += 1
            decided.append(
                Decided(
                    key=key,
                    request=request,
                    decision=decision,
                    cost=Cost(),
                    cells=(),
                    model=offer.model,
                    prompt_cap=offer.prompt_cap,
                    refused=refused,
                    successor=successor,
                )
            )
    return decided


def first_fitting(view: BudgetView, key: JobKey, minute: int, offers: Sequence[Offer]) -> tuple[Offer, str]:
    """The first offer that has room, and ""; where none has, the last one and the cell that refused it."""
    refused: str | None = ""
    for offer in offers:
        refused = view.refusal(key, minute, offer.cost)
        if refused is None:
            return offer, ""
    return offers[-1], refused or ""


def hold(view: BudgetView, key: JobKey, minute: int, request: Request, offer: Offer) -> Decided:
    """Admit a request with an offer that has room, and hold its cost."""
    cells = tuple(view.cells(key, minute))
    view.move(cells, Cost(), offer.cost)
    return Decided(
        key=key,
        request=request,
        decision="admitted",
        cost=offer.cost,
        cells=cells,
        model=offer.model,
        prompt_cap=offer.prompt_cap,
    )


def degrade(policy: OnDenied, trial: int) -> Decision:
    """What becomes of a request that budget refuses."""
    if policy == "drop":
        return "dropped"
    if policy == "defer" and trial + 1 < MAX_TRIALS:
        return "deferred"
    return "heuristic"

"""Admission: decide which of a tick's requests become jobs, and degrade those that the budget refuses.

Admission tries each model of the ladder, then degrades as the kind says: heuristic, deferred or dropped. It serves
requests by kind, then priority, then least recently served owner, then owner name; order of arrival never counts. A
run that spends by value (`cogitate.scheduler.budget.call_value`) serves higher values before other owners. Admission
skips a model whose answer would miss its due tick: see `cogitate.scheduler.latency.due_ticks`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import msgspec

from cogitate.scheduler.budget.budget import Account, BudgetView, Cell, taken
from cogitate.scheduler.budget.call_value import LOW_VALUE, ValueRound
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.latency.due_ticks import UNTIMELY, DueTicks
from cogitate.tasks.job import Cost, Job, JobKey, Request, Valued
from cogitate.tasks.kind import OnDenied

Decision = Literal["admitted", "heuristic", "deferred", "dropped"]

AWAY = "away"  # reason of refusals while the ledger is away
CANCELLED = "cancelled"  # refusal of the model for a job whose heuristic takes the place of a cancelled one
DEFER_TICKS = 10  # ticks before a deferred request is tried again
MAX_TRIALS = 3  # trials of a request; after the last refusal its heuristic applies

_in_order = msgspec.json.Encoder(order="deterministic").encode


class DecidedLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision on one request, as recorded in the journal line and covered by its digest.

    Kept apart from `Grant`, which the digest does not cover, and from `Job`, which workers read.
    """

    key: JobKey
    decision: Decision
    model: str = ""  # assigned to an admitted job; empty: it calls no model
    due: int = 0  # tick whose boundary applies it; 0: deferred or dropped
    #: The cell without room, or a word: low_value, too_slow, run_ends, draining, away, left, cancelled.
    refused: str = ""
    successor: JobKey | None = None  # next trial of a deferred request, unless its owner leaves first
    instead: JobKey | None = None  # the cancelled job that its heuristic replaces


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What admission grants a job: the reservation for its first attempt, and the cells to charge."""

    key: JobKey
    reserved: Cost
    cells: tuple[Cell, ...]


class Decided(NamedTuple):
    """A decided request, held until its tick opens or defers the job."""

    line: DecidedLine
    request: Request
    offer: ModelOption  # the job's option; for a refused request, the last one tried
    grant: Grant | None = None  # None: not admitted
    ahead: int = 0  # jobs of its kind and model in flight at admission
    valued: Valued | None = None


@dataclass(frozen=True)
class Charge:
    """What a job is charged to."""

    cells: tuple[Cell, ...]
    accounts: tuple[Account, ...]  # of these cells
    _taken: dict[Cost, list[tuple[str, int]]] = field(default_factory=dict, init=False)

    def taken(self, cost: Cost) -> list[tuple[str, int]]:
        """Return what a job with this reservation adds to the view."""
        found = self._taken.get(cost)
        if found is None:
            found = self._taken[cost] = taken(self.accounts, cost)
        return found


@dataclass(frozen=True)
class AdmissionRound:
    """What the decisions of one tick depend on. Admitted jobs hold their cost in `view`, whose limits stay the same."""

    tick: int
    minute: int  # game time, total minutes
    view: BudgetView
    rules: Rules
    offers_of: Callable[[Request], Sequence[ModelOption]]  # the options of a request, best first
    due: DueTicks
    values: ValueRound | None = None  # of a run that spends by value
    _accounts: dict[Cell, Account] = field(default_factory=dict, init=False)
    _charges: dict[str, Charge] = field(default_factory=dict, init=False)  # by kind, where no limit names owners

    def charge(self, key: JobKey) -> Charge:
        """Return what a job of this tick is charged to."""
        known = self._charges.get(key.kind)
        if known is None:
            cells = tuple(self.view.cells(key, self.minute))
            known = Charge(cells, tuple(map(self._account, cells)))
            if not self.view.table.names_owners:
                self._charges[key.kind] = known
        return known

    def _account(self, cell: Cell) -> Account:
        account = self._accounts.get(cell)
        if account is None:
            account = self._accounts[cell] = self.view.account(cell)
        return account


def admit(
    requests: Sequence[Request],
    at: AdmissionRound,
    *,
    last_served: Callable[[str, str], int],
    closed: str = "",
    called: Sequence[Request] = (),
) -> list[Decided]:
    """Decide a tick's requests in canonical order.

    Args:
        last_served: returns the tick at which (kind, owner) was last admitted; -1 if never.
        closed: why the run admits no requests; the reason of each refusal.
        called: the host's own requests among `requests`, in call order, which determines their ids.
    """
    if at.values is not None and not closed:
        at.values.begin(requests)
    ordinals: dict[tuple[str, str, int], int] = {}  # the next of each slot
    known: dict[int, int] = {}  # ordinals of the host's own requests, by identity
    for request in called:
        slot = (request.kind, request.owner, request.trial)
        known[id(request)] = ordinal = ordinals.get(slot, 0)
        ordinals[slot] = ordinal + 1
    deferred: Counter[tuple[str, str, int]] = Counter()
    decided = []
    for request in _ordered(requests, at, last_served, by_value=not closed):
        slot = (request.kind, request.owner, request.trial)
        ordinal = known.get(id(request), -1)
        if ordinal < 0:
            ordinal = ordinals.get(slot, 0)
            ordinals[slot] = ordinal + 1
        key = JobKey(at.tick, request.kind, request.owner, ordinal, request.trial)
        fit = Fit(at.offers_of(request)[-1], 0, closed) if closed else first_fitting(at, key, request)
        values = None if fit.refused else at.values
        if values is not None and not values.affords(key, request, fit.offer.cost, at.charge(key).cells):
            fit = Fit(fit.offer, 0, LOW_VALUE)
        if not fit.refused:
            valued = values.valued(key, request) if values is not None else None
            decided.append(hold(at, key, request, fit, valued))
        else:
            decision, successor = degrade(at.rules.kind_of(request.kind).on_denied, request, fit.refused), None
            if decision == "deferred":
                # The ordinal at the later tick: deferred requests of one slot keep their order.
                successor = JobKey(at.tick + DEFER_TICKS, key.kind, key.owner, deferred[slot], key.trial + 1)
                deferred[slot] += 1
            due_tick = at.due.fallback_due(request, at.tick, fit.refused) if decision == "heuristic" else 0
            line = DecidedLine(key=key, decision=decision, due=due_tick, refused=fit.refused, successor=successor)
            decided.append(Decided(line, request, fit.offer))
    return decided


def replacement(job: Job, taken: Collection[JobKey], at: AdmissionRound) -> Decided:
    """Return the next trial of a job that an operator has cancelled: its heuristic, due when its answer was.

    Args:
        taken: keys of the tick that are in use.
    """
    numbers, others = job.reads[0].numbers, job.reads[1:]
    request = Request(
        kind=job.key.kind,
        owner=job.key.owner,
        priority=job.priority,
        params=job.params,
        numbers=numbers,
        reads=others,
        trial=job.key.trial + 1,
        at=job.at,
    )
    key = JobKey(at.tick, request.kind, request.owner, 0, request.trial)
    while key in taken:
        key = key._replace(ordinal=key.ordinal + 1)
    line = DecidedLine(key=key, decision="heuristic", due=job.due, refused=CANCELLED, instead=job.key)
    return Decided(line, request, at.offers_of(request)[-1])


def _ordered(
    requests: Sequence[Request], at: AdmissionRound, last_served: Callable[[str, str], int], *, by_value: bool
) -> list[Request]:
    """Return requests in canonical order; what they ask for decides between those of one kind, owner and trial."""
    orders = {kind: at.rules.kind_of(kind).order for kind in {request.kind for request in requests}}
    values = at.values if by_value else None
    several = len({(orders[request.kind], request.owner, request.trial) for request in requests}) < len(requests)

    def place(request: Request) -> tuple[Any, ...]:
        kind, owner = request.kind, request.owner
        worth = values.of(request) if values is not None else None
        value = 0 if worth is None else -worth.value
        asked = (request.numbers or (), _in_order(request)) if several else ()
        return orders[kind], -request.priority, value, last_served(kind, owner), owner, request.trial, asked

    return sorted(requests, key=place)


class Fit(NamedTuple):
    """The option chosen for a request."""

    offer: ModelOption
    due: int  # tick
    refused: str  # why the option does not fit; "" if it fits


def first_fitting(at: AdmissionRound, key: JobKey, request: Request) -> Fit:
    """Return the first option that is in time and has room, or else the last one with the reason for its refusal."""
    refused, accounts, offers = "", at.charge(key).accounts, at.offers_of(request)
    for offer in offers:
        tick = at.due.due_of(request, key.tick, offer)
        if isinstance(tick, str):
            refused = tick
            continue
        cell = at.view.refusal(key, at.minute, offer.cost, accounts)
        if cell is None:
            return Fit(offer, tick, "")
        refused = cell
    return Fit(offers[-1], 0, refused)


def hold(at: AdmissionRound, key: JobKey, request: Request, fit: Fit, valued: Valued | None = None) -> Decided:
    """Admit a request with the option of `fit`, and hold its cost."""
    offer, charge, ahead = fit.offer, at.charge(key), 0
    at.view.hold(charge.taken(offer.cost))
    if offer.model:
        ahead = at.due.ahead(key.kind, offer.model, key.tick)
        at.due.record_admission(key.kind, offer.model, key.tick)
    line = DecidedLine(key=key, decision="admitted", model=offer.model, due=fit.due)
    return Decided(line, request, offer, Grant(key=key, reserved=offer.cost, cells=charge.cells), ahead, valued)


def degrade(policy: OnDenied, request: Request, refused: str) -> Decision:
    """Return the decision on a refused request. Never defer past the tick by which it is needed."""
    if policy == "drop":
        return "dropped"
    in_time = not request.within or request.within > DEFER_TICKS
    if policy == "defer" and request.trial + 1 < MAX_TRIALS and refused not in UNTIMELY and in_time:
        return "deferred"
    return "heuristic"

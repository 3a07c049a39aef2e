"""Admission: decide which of a tick's requests become jobs, and degrade those that the budget refuses.

Admission tries each model of the ladder. If none fits, it degrades the request as its kind defines: heuristic, deferred
or dropped. It serves requests by kind, then priority, then least recently served owner, then owner name; the order of
arrival never counts. A run that spends by value (`cogitate.scheduler.budget.value_round`) compares values before
owners. Admission skips a model whose answer would miss its due tick: see `cogitate.scheduler.latency.due_ticks`.

Consecutive requests that differ only in fields that the decision ignores, such as the owner, form a batch: admission
checks and charges the limits once for as many of them as fit. If the decision depends on the owner, the value of the
call or jobs admitted earlier, each request is its own batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, NamedTuple

import msgspec

from cogitate.scheduler.budget.budget import Account, BudgetView, Cell, taken
from cogitate.scheduler.budget.rules import Rules
from cogitate.scheduler.budget.value_round import LOW_VALUE, ValueRound
from cogitate.scheduler.config.tiers import ModelOption
from cogitate.scheduler.latency.due_ticks import UNTIMELY, DueTicks
from cogitate.tasks.job import Cost, Job, JobKey, Request, Valued
from cogitate.tasks.kind import OnDenied

Decision = Literal["admitted", "heuristic", "deferred", "dropped"]

AWAY = "away"  # reason for refusals while the ledger is away
CANCELLED = "cancelled"  # reason why the heuristic that replaces a cancelled job asks no model
DEFER_TICKS = 10  # ticks before a deferred request is tried again
MAX_TRIALS = 3  # trials of a request; after the last refusal its heuristic applies

_in_order = msgspec.json.Encoder(order="deterministic").encode


class DecidedLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The decision on one request, as recorded in the journal line and covered by its digest.

    Kept apart from `Grant`, which the digest does not cover, and from `Job`, which workers read.
    """

    key: JobKey
    decision: Decision
    model: str = ""  # assigned to an admitted job; empty: it calls no model
    due: int = 0  # tick whose boundary applies it; 0: deferred or dropped
    #: The cell without room, or a reason: low_value, too_slow, run_ends, draining, away, left, cancelled.
    refused: str = ""
    successor: JobKey | None = None  # next trial of a deferred request, unless its owner leaves first
    instead: JobKey | None = None  # the cancelled job that this job's heuristic replaces


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A job's reservation for its first attempt, and the cells to charge."""

    key: JobKey
    reserved: Cost
    cells: tuple[Cell, ...]


class Decided(msgspec.Struct, frozen=True, gc=False):
    """A decided request, held until its tick opens or defers the job."""

    line: DecidedLine
    request: Request
    offer: ModelOption  # the job's option; for a refused request, the last one tried
    grant: Grant | None = None  # None: not admitted
    ahead: int = 0  # jobs of its kind and model in flight at admission
    valued: Valued | None = None


@dataclass(frozen=True)
class Charge:
    """The cells and accounts that a job is charged to."""

    cells: tuple[Cell, ...]
    accounts: tuple[Account, ...]  # of these cells
    _taken: dict[Cost, list[tuple[str, int]]] = field(default_factory=dict, init=False)

    def taken(self, cost: Cost) -> list[tuple[str, int]]:
        """Return the amounts that a job with this reservation adds to the view, by field."""
        amounts = self._taken.get(cost)
        if amounts is None:
            amounts = self._taken[cost] = taken(self.accounts, cost)
        return amounts


@dataclass(frozen=True)
class AdmissionRound:
    """The inputs of one tick's decisions. `view` holds the cost of admitted jobs; its limits do not change."""

    tick: int
    minute: int  # game time, total minutes
    view: BudgetView
    rules: Rules
    offers_of: Callable[[Request], Sequence[ModelOption]]  # the options of a request, best first
    due: DueTicks
    values: ValueRound | None = None  # None: the run does not spend by value
    _accounts: dict[Cell, Account] = field(default_factory=dict, init=False)
    _charges: dict[str, Charge] = field(default_factory=dict, init=False)  # by kind; empty if limits name owners

    def charge(self, key: JobKey) -> Charge:
        """Return the cells and accounts that a job of this tick is charged to."""
        charge = self._charges.get(key.kind)
        if charge is None:
            cells = tuple(self.view.cells(key, self.minute))
            charge = Charge(cells, tuple(map(self._account, cells)))
            if not self.view.table.names_owners:
                self._charges[key.kind] = charge
        return charge

    def batches(self, requests: Iterable[Request]) -> Iterator[list[Request]]:
        """Yield requests in batches, in order. All requests of a batch get the same option while it has room."""
        singly = self.values is not None or self.view.table.names_owners
        for (kind, offers, *_), alike in groupby(requests, self._batch_key):
            if singly or any(self.due.follows(kind, offer.model) for offer in offers):
                yield from ([request] for request in alike)
            else:
                yield list(alike)

    def _batch_key(self, request: Request) -> tuple[str, Sequence[ModelOption], int, int]:
        """Return the properties that determine a request's option."""
        return request.kind, self.offers_of(request), request.at, request.within

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
        closed: the reason to refuse all requests; empty: the run admits requests.
        called: the host's own requests among `requests`, in call order; this order determines their ids.
    """
    if at.values is not None and not closed:
        at.values.begin(requests)
    ordinals: dict[tuple[str, str, int], int] = {}  # the next ordinal of each slot
    known: dict[int, int] = {}  # ordinals of the host's own requests, by identity
    for request in called:
        slot = (request.kind, request.owner, request.trial)
        known[id(request)] = ordinal = ordinals.get(slot, 0)
        ordinals[slot] = ordinal + 1
    deferred: Counter[tuple[str, str, int]] = Counter()

    def keyed(request: Request) -> KeyedRequest:
        slot = (request.kind, request.owner, request.trial)
        ordinal = known.get(id(request), -1)
        if ordinal < 0:
            ordinal = ordinals.get(slot, 0)
            ordinals[slot] = ordinal + 1
        return JobKey(at.tick, request.kind, request.owner, ordinal, request.trial), request

    decided: list[Decided] = []
    for batch in at.batches(_ordered(requests, at, last_served, by_value=not closed)):
        left = [keyed(request) for request in batch]
        while left:
            key, request = left[0]
            if closed:
                fit = Fit(at.offers_of(request)[-1], 0, closed, len(left))
            else:
                fit = first_fitting(at, key, request, len(left))
            values, valued = None if fit.refused else at.values, None
            if values is not None and not values.affords(key, request, fit.offer.cost, at.charge(key).cells):
                fit = Fit(fit.offer, 0, LOW_VALUE)
            elif values is not None:
                valued = values.valued(key, request)
            taken, left = left[: fit.jobs], left[fit.jobs :]
            if fit.refused:
                decided += (_refused(at, *keyed_request, fit, deferred) for keyed_request in taken)
            else:
                decided += hold(at, taken, fit, valued)
    return decided


def _refused(
    at: AdmissionRound, key: JobKey, request: Request, fit: Fit, deferred: Counter[tuple[str, str, int]]
) -> Decided:
    """Return the decision on a request for which no option fits.

    Args:
        deferred: number of requests deferred so far, by slot; a deferral adds to it.
    """
    decision, successor = degrade(at.rules.kind_of(request.kind).on_denied, request, fit.refused), None
    if decision == "deferred":
        # The count becomes the ordinal at the later tick, so deferred requests of one slot keep their order.
        slot = (request.kind, request.owner, request.trial)
        successor = JobKey(at.tick + DEFER_TICKS, key.kind, key.owner, deferred[slot], key.trial + 1)
        deferred[slot] += 1
    due_tick = at.due.fallback_due(request, at.tick, fit.refused) if decision == "heuristic" else 0
    line = DecidedLine(key=key, decision=decision, due=due_tick, refused=fit.refused, successor=successor)
    return Decided(line, request, fit.offer)


def replacement(job: Job, taken: Collection[JobKey], at: AdmissionRound) -> Decided:
    """Return the next trial of a job that an operator cancelled: its heuristic, with the same due tick.

    Args:
        taken: keys that this tick already uses.
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
    """Return requests in canonical order; their content breaks ties between requests of one kind, owner and trial."""
    orders = {kind: at.rules.kind_of(kind).order for kind in {request.kind for request in requests}}
    values = at.values if by_value else None
    has_ties = len({(orders[request.kind], request.owner, request.trial) for request in requests}) < len(requests)

    def sort_key(request: Request) -> tuple[Any, ...]:
        kind, owner = request.kind, request.owner
        worth = values.of(request) if values is not None else None
        value = 0 if worth is None else -worth.value
        content = (request.numbers or (), _in_order(request)) if has_ties else ()
        return orders[kind], -request.priority, value, last_served(kind, owner), owner, request.trial, content

    return sorted(requests, key=sort_key)


KeyedRequest = tuple[JobKey, Request]  # a request with the key of its job


class Fit(NamedTuple):
    """The option chosen for a request."""

    offer: ModelOption
    due: int  # tick
    refused: str  # why the option does not fit; "" if it fits
    jobs: int = 1  # number of requests, from the start of the batch, that this covers


def first_fitting(at: AdmissionRound, key: JobKey, request: Request, count: int = 1) -> Fit:
    """Return the first option that is in time and has room; if none is, the last option and the reason for its refusal.

    Args:
        count: number of requests in the batch that begins with this one.
    """
    refused, accounts, offers = "", at.charge(key).accounts, at.offers_of(request)
    for offer in offers:
        due_tick = at.due.due_of(request, key.tick, offer)
        if isinstance(due_tick, str):
            refused = due_tick
            continue
        fits, refused = at.view.fitting(key, at.minute, offer.cost, accounts, count)
        if fits:
            return Fit(offer, due_tick, "", fits)
    return Fit(offers[-1], 0, refused, count)


def hold(at: AdmissionRound, batch: Sequence[KeyedRequest], fit: Fit, valued: Valued | None = None) -> list[Decided]:
    """Admit the requests of a batch with the option of `fit`, and hold their cost."""
    (key, _), offer, due, ahead = batch[0], fit.offer, fit.due, 0
    charge = at.charge(key)
    at.view.hold(charge.taken(offer.cost), len(batch))
    if offer.model:
        ahead = at.due.ahead(key.kind, offer.model, key.tick)
        at.due.record_admission(key.kind, offer.model, key.tick)
    model, cost, cells = offer.model, offer.cost, charge.cells
    return [
        Decided(
            DecidedLine(key=key, decision="admitted", model=model, due=due),
            request,
            offer,
            Grant(key=key, reserved=cost, cells=cells),
            ahead,
            valued,
        )
        for key, request in batch
    ]


def degrade(policy: OnDenied, request: Request, refused: str) -> Decision:
    """Return the decision on a refused request: `deferred` only if the next trial comes in time."""
    if policy == "drop":
        return "dropped"
    in_time = not request.within or request.within > DEFER_TICKS
    if policy == "defer" and request.trial + 1 < MAX_TRIALS and refused not in UNTIMELY and in_time:
        return "deferred"
    return "heuristic"

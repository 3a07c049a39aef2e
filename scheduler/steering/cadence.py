"""Cadence: when each kind of job is due for each owner.

The host does not ask every kind about every owner at each tick. It asks a kind about an owner when the owner's stream
changes in a way that the kind heeds, and at the tick that the kind named in advance. It never asks while a job of that
kind and owner is open or deferred.

If a model's calls are packed, it asks kinds that gather (`cogitate.tasks.kind.Kind.gathers`) about all owners at shared
turns and at no other tick, so one request can cover many owners.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import compress, islice
from typing import NamedTuple

from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError
from cogitate.memory.host_code import Raised, captured
from cogitate.memory.stream import Stream
from cogitate.scheduler.intake.checks import check_request_of
from cogitate.scheduler.intake.kind_effects import fault_of_kind
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Kind, Moment, WorldFacts

MOST = 1_000  # requests of one kind for one owner at one tick
MAX_PARAMS = 200_000  # bytes of JSON; more than a host may pass, because a kind may need more
_MOST_CHARACTERS = 300  # of a fault
_BOOL = frozenset((bool,))


class KindFault(NamedTuple):
    """A kind's failure for one owner: it raised an error, or returned an invalid value."""

    kind: str
    owner: str
    why: str  # without the text of the kind's own exceptions, which may quote memories


class _Unusable(InputError):
    """A kind returned an invalid value; the message never quotes the kind's own exceptions."""


class Cadence:
    """Tracks when to ask each kind about each owner. The run does not store this: on resume, `rewake` rebuilds it.

    A kind that raises an error or returns an invalid value fails for that owner only: the owner gets no job of this
    kind at this tick, and `take_faults` returns the reason.
    """

    def __init__(self, kinds: Iterable[Kind], turn_of: Callable[[str], int] = lambda kind: 1) -> None:
        self._kinds = sorted(kinds, key=lambda kind: kind.order)
        self._turns = {kind.name: turn for kind in self._kinds if (turn := turn_of(kind.name)) > 1}
        self._names = frozenset(kind.name for kind in self._kinds)
        self._wakes: dict[int, dict[str, set[str]]] = {}  # tick -> owner -> kinds to ask
        self._touched: set[str] = set()
        self._concerned: dict[str, set[str]] = {}  # owner -> kinds that heed its observations
        self._asking: list[tuple[Kind, Moment]] = []  # kinds that have requested jobs at this tick
        self._left: set[str] = set()
        self._faults: list[KindFault] = []

    def touch(self, owner: str) -> None:
        """Have every kind asked about the owner at the next tick, because its stream or its open jobs changed."""
        self._touched.add(owner)

    def observed(
        self, seen: Iterable[tuple[str, Entry]], streams: Mapping[str, Stream], world: WorldFacts, minute: int
    ) -> None:
        """Record observations, so that the kinds that heed them (or whose `heeds` raises an error) are asked."""
        for owner, entry in seen:
            stream = streams[owner]
            heeded = captured(_heeding, self._kinds, entry, stream, world, minute)
            if type(heeded) is Raised or not _BOOL.issuperset(map(type, heeded)):
                heeded = [self._is_heeded(kind, owner, entry, stream, world, minute) for kind in self._kinds]
            if True in heeded:
                heeding = compress(self._kinds, heeded)
                self._concerned.setdefault(owner, set()).update(kind.name for kind in heeding)

    def forget(self, owner: str) -> None:
        self._left.add(owner)

    def due(
        self,
        tick: int,
        moment_of: Callable[[str], Moment],
        busy: Callable[[str, str], bool],
        owners: Collection[str] = (),
    ) -> list[Request]:
        """Return the requests of this tick, sorted by owner and kind.

        Args:
            owners: all present owners, which have their shared turns together.
        """
        asked: dict[str, Collection[str]] = {**self._wakes.pop(tick, {})}
        for owner, heeding in self._concerned.items():
            asked[owner] = heeding.union(asked.get(owner, ()))
        asked |= dict.fromkeys(self._touched, self._names)
        self._touched.clear()
        self._concerned.clear()
        self._asking.clear()
        if self._turns:
            together = {name for name, turn in self._turns.items() if tick % turn == 0}
            asked = {owner: {name for name in names if name not in self._turns} for owner, names in asked.items()}
            if together:  # between turns, no loop over all owners is needed
                asked |= {owner: together.union(asked.get(owner, ())) for owner in owners}
        requests: list[Request] = []
        kinds = [(kind.name, kind) for kind in self._kinds]
        for owner in sorted(asked):
            names = asked[owner]
            if not names or owner in self._left:
                continue
            moment = moment_of(owner)
            for name, kind in kinds:
                if name not in names or busy(name, owner):
                    continue
                if found := self.due_now(kind, moment):
                    requests += found
                    self._asking.append((kind, moment))
                else:
                    self._wake(kind, moment)
        return requests

    def decided(self, busy: Callable[[str, str], bool]) -> None:
        """Schedule the next question to kinds whose requests led to no job; a job's end schedules it for the others."""
        for kind, moment in self._asking:
            if not busy(kind.name, moment.owner):
                self._wake(kind, moment)
        self._asking.clear()

    def due_now(self, kind: Kind, moment: Moment) -> list[Request]:
        """Return the jobs that a kind reports as due; none if any of them is invalid."""
        requests = captured(_due, kind, moment)
        if type(requests) is Raised:
            self._note(kind.name, moment.owner, "due", requests.error)
            return []
        return requests

    def rewake(self, moments: Iterable[Moment], busy: Callable[[str, str], bool]) -> None:
        """Rebuild the schedule from each owner's state at the end of the last tick, without asking for requests."""
        for moment in moments:
            for kind in self._kinds:
                if not busy(kind.name, moment.owner):
                    self._wake(kind, moment)
        self._faults.clear()  # earlier ticks have reported them

    def take_faults(self) -> tuple[KindFault, ...]:
        """Return the faults of kinds since the last call, in the order in which the kinds were asked."""
        faults, self._faults = tuple(self._faults), []
        return faults

    def _wake(self, kind: Kind, moment: Moment) -> None:
        if kind.name in self._turns:
            return
        tick = captured(_next_look, kind, moment)
        if type(tick) is Raised:
            self._note(kind.name, moment.owner, "wake", tick.error)
            tick = moment.tick + 1  # like a host that resumes the run here
        if tick is not None:
            wakes = self._wakes.setdefault(max(tick, moment.tick + 1), {})
            wakes.setdefault(moment.owner, set()).add(kind.name)

    def _is_heeded(self, kind: Kind, owner: str, entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> bool:
        heeded = captured(kind.heeds, entry, stream, world, minute)
        heeded = heeded if type(heeded) is Raised else captured(bool, heeded)
        if type(heeded) is Raised:
            self._note(kind.name, owner, "heeds", heeded.error)
            return True
        return heeded

    def _note(self, kind: str, owner: str, method: str, error: BaseException) -> None:
        why = str(error) if type(error) is _Unusable else fault_of_kind(kind, method, error)
        self._faults.append(KindFault(kind, owner, why[:_MOST_CHARACTERS]))


def _heeding(kinds: Iterable[Kind], entry: Entry, stream: Stream, world: WorldFacts, minute: int) -> Sequence[object]:
    """Return for each kind whether it heeds an observed entry."""
    return [kind.heeds(entry, stream, world, minute) for kind in kinds]


def _due(kind: Kind, moment: Moment) -> list[Request]:
    """Return the jobs that a kind reports as due.

    Raises:
        _Unusable: if the kind returns anything but requests for itself and this owner.
    """
    returned: object = kind.due(moment)
    if type(returned) is tuple and not returned:
        return []
    if type(returned) is not tuple and (isinstance(returned, str) or not isinstance(returned, Iterable)):
        raise _Unusable(f"due returned {_what(returned)}: return Requests, or () where nothing is due")
    requests: Sequence[object] = returned if type(returned) is tuple else list(islice(returned, MOST + 1))
    if len(requests) > MOST:
        raise _Unusable(f"due returned more than {MOST} Requests")
    return [_checked(kind, moment, request) for request in requests]


def _checked(kind: Kind, moment: Moment, request: object) -> Request:
    if not issubclass(type(request), Request):
        raise _Unusable(f"due returned {_what(request)}: return Requests")
    assert isinstance(request, Request)
    if request.kind != kind.name:
        raise _Unusable(f"due requested the kind {request.kind!a}: a kind may request only itself")
    if request.owner != moment.owner:
        raise _Unusable(f"due requested the owner {request.owner!a}: request only the given owner")
    try:
        return check_request_of(kind.name, moment.owner, request, MAX_PARAMS)
    except InputError as error:
        raise _Unusable(f"due returned an invalid request: {error}") from error


def _next_look(kind: Kind, moment: Moment) -> int | None:
    tick = kind.wake(moment)
    if tick is None or type(tick) is int:
        return tick
    if not issubclass(type(tick), int) or isinstance(tick, bool):
        raise _Unusable(f"wake returned {_what(tick)}: return the number of a tick, or None")
    return int.__int__(tick)


def _what(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"

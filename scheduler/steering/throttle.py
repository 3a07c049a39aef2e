"""Throttle reflections: the controller of the cadence, an operator's cadence, and the choice of the owners that wait.

At the end of each interval the controller takes a step, unless an operator has pinned the cadence or the settings turn
the controller off; `cogitate.scheduler.steering.postponing` then chooses the owners that may reflect. A reflection that
the host itself requests is never postponed. Without pressure, throttling has no effect.

The controller halves the cadence for each interval under pressure, and doubles it once the pressure eases. Pressure has
three causes, each measured over the past interval, in percent:

* `late`: jobs without a result when due; in a paced run, long queues and an overloaded endpoint show up here;
* `failed`: jobs whose model failed, or that were given up as dead;
* `budget`: the rate at which the day's budget is spent, relative to the rate at which the day passes (100: equal). It
  counts only once half of the budget is spent.

Each cause has a threshold at which it presses and a lower one at which it eases. Between the two nothing changes, and
the controller takes one step per interval, so the cadence does not oscillate. An interval without ended jobs is no
evidence; only after several of them does the cadence rise by a step.

The inputs are the journal's records of ended jobs and admission's view of the budget, never a clock or the length of a
queue, because those differ between two runs with the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from cogitate.memory.clock import DAY, day_of
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.budget import BudgetView, Cell, window_of
from cogitate.scheduler.budget.rules import ThrottleRules
from cogitate.scheduler.config.controls import FULL, SetCadence
from cogitate.scheduler.config.limits import LIMIT_UNITS
from cogitate.scheduler.journal.lines import Ended, Postponed, Stepped
from cogitate.scheduler.ledger.claims import Reason
from cogitate.scheduler.steering.postponing import Postponing
from cogitate.tasks.job import Request
from cogitate.tasks.reflect import salience

PRESSES = {"late": 10, "failed": 25, "budget": 150}  # percent, at or above
EASES = {"late": 2, "failed": 5, "budget": 110}  # percent, at or below
LEAST_BAD = 2  # jobs; a single one does not count as pressure
HALF_GONE = 50  # percent of the budget that must be spent before its pace counts
QUIET = 4  # intervals without an ended job, after which the cadence rises by a step


class Seen(msgspec.Struct, frozen=True, omit_defaults=True):
    """The jobs that ended in an interval."""

    ended: int = 0  # jobs for workers
    late: int = 0
    failed: int = 0  # or dead
    oldest: int = 0  # ticks between admission and end of the oldest late job

    def with_ended(self, reason: Reason, age: int) -> Seen:
        """Return the interval with one more ended job; refused jobs and those of departed owners do not count."""
        if reason in ("denied", "too_slow", "cancelled"):
            return self
        late = reason == "late"
        return Seen(
            ended=self.ended + 1,
            late=self.late + late,
            failed=self.failed + (reason in ("failed", "dead")),
            oldest=max(self.oldest, age) if late else self.oldest,
        )


class Verdict(msgspec.Struct, frozen=True):
    """The controller's verdict on an interval."""

    causes: dict[str, int]  # percent, for each cause above 0
    pressing: tuple[str, ...]  # causes at or above their threshold
    easing: bool


def judge(seen: Seen, burn: int) -> Verdict:
    """Judge an interval by its ended jobs and the budget's pace in percent."""
    shares = {
        "late": 100 * seen.late // max(1, seen.ended),
        "failed": 100 * seen.failed // max(1, seen.ended),
        "budget": burn,
    }
    enough = {"late": seen.late >= LEAST_BAD, "failed": seen.failed >= LEAST_BAD, "budget": True}
    pressing = tuple(cause for cause, share in shares.items() if enough[cause] and share >= PRESSES[cause])
    easing = all(share <= EASES[cause] for cause, share in shares.items())
    return Verdict({cause: share for cause, share in shares.items() if share}, pressing, easing)


def next_factor(factor: int, verdict: Verdict, *, known: bool, least: int) -> int:
    """Return the cadence after an interval, in thousandths: one step lower, one step higher, or unchanged.

    Args:
        known: whether the interval is evidence: jobs ended in it, or none did for long enough.
        least: the slowest cadence that the controller sets, in thousandths.
    """
    if verdict.pressing:
        return max(min(least, factor), factor // 2)
    if verdict.easing and known:
        return min(FULL, max(least, factor * 2))
    return factor


def burn(view: BudgetView, kind: str, minute: int) -> int:
    """Return how fast the fullest window uses the day's budget, in percent of the pace at which the day passes.

    The budget here is the room that admission may grant: the limit without its retry pool.
    """
    window = window_of("day", 0, minute)
    passed = minute % DAY
    paces = [
        100 * used * DAY // (room * passed)
        for used, room in _rooms(view, window, ("run", f"kind:{kind}"))
        if passed and room and 100 * used >= HALF_GONE * room
    ]
    return max(paces, default=0)


def _rooms(view: BudgetView, window: str, scopes: Iterable[str]) -> Iterable[tuple[int, int]]:
    for scope in scopes:
        for unit in LIMIT_UNITS:
            room = view.room("day", scope, unit)
            if room is not None:
                yield view.get(Cell(window, scope), unit), room


KIND = "reflect"


class ThrottleState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cadence in force and the controller's inputs, as a run stores them."""

    factor: int = FULL  # thousandths of the usual cadence
    pinned: bool = False  # whether an operator has pinned it
    seen: Seen = Seen()  # jobs that ended in the current interval
    quiet: int = 0  # consecutive intervals without ended jobs
    causes: dict[str, int] = msgspec.field(default_factory=dict)  # percent, in the last interval
    pressing: tuple[str, ...] = ()  # the causes that slowed the cadence
    postponed: int = 0  # postponements in the run so far


HOUR = 60  # game minutes


class Throttle:
    """The cadence of reflections in one run."""

    def __init__(self, rules: ThrottleRules) -> None:
        self.rules = rules
        self.state = ThrottleState()
        self.postponing = Postponing()

    def set(self, control: SetCadence) -> None:
        """Apply an operator's request."""
        factor = self.state.factor if control.factor is None else control.factor
        pinned = self.state.pinned if control.pinned is None else control.pinned
        self.state = msgspec.structs.replace(self.state, factor=factor, pinned=pinned)

    def see(self, ended: Iterable[Ended], tick: int) -> None:
        """Record how a tick's jobs ended."""
        seen = self.state.seen
        for end in ended:
            seen = seen.with_ended(end.reason, tick - end.key.tick)
        if seen is not self.state.seen:
            self.state = msgspec.structs.replace(self.state, seen=seen)

    def step(self, view: BudgetView, minute: int, before: int) -> Stepped | None:
        """Take the controller's step if an interval ends between game times `before` and `minute`.

        Returns:
            The note for the journal; None if the cadence is the usual one and nothing presses.
        """
        if minute // self.rules.interval == before // self.rules.interval:
            return None
        state, seen = self.state, self.state.seen
        pace = burn(view, KIND, minute)
        verdict = judge(seen, pace)
        quiet = 0 if seen.ended else state.quiet + 1
        auto = self.rules.auto and not state.pinned
        known = seen.ended > 0 or quiet >= QUIET
        factor = next_factor(state.factor, verdict, known=known, least=self.rules.least) if auto else state.factor
        self.state = msgspec.structs.replace(
            state, factor=factor, seen=Seen(), quiet=quiet % QUIET, causes=verdict.causes, pressing=verdict.pressing
        )
        if not auto or (factor == state.factor == FULL and not verdict.pressing):
            return None
        return Stepped(
            kind=KIND,
            before=state.factor,
            factor=factor,
            ended=seen.ended,
            late=seen.late,
            failed=seen.failed,
            oldest=seen.oldest,
            burn=pace,
        )

    def sift(
        self,
        due: Sequence[Request],
        streams: Mapping[str, Stream],
        *,
        minute: int,
        before: int,
        interval: int,
        again: Callable[[str, str], Iterable[Request]],
        enough: int | None = None,
    ) -> tuple[list[Request], tuple[Postponed, ...]]:
        """Return the requests to make now, including released postponed ones, and the new postponements.

        Args:
            before: game time of the previous tick.
            interval: game minutes between two reflections at the usual cadence.
            again: returns the requests that are due now for a waiting (kind, owner).
            enough: accumulated importance that makes an owner due; None: only time makes it due.
        """
        if self.state.factor >= FULL and not self.postponing.waiting:
            return list(due), ()
        own = {request.owner: request for request in due if request.kind == KIND}
        is_last = day_of(minute + max(HOUR, minute - before)) > day_of(minute)  # the last hour, or tick, of the day
        passed = self.postponing.sift(
            own,
            factor=self.state.factor,
            minute=minute,
            interval=interval,
            # Owners that reflect once or twice a day (streams design) must do so even during a long outage.
            last_call=self.rules.auto and not self.state.pinned and is_last,
            salience=lambda owner: salience(streams[owner]),
            enough=enough,
        )
        requests = [request for request in due if request.kind != KIND]
        for owner in passed.owners:
            requests += [own[owner]] if owner in own else again(KIND, owner)
        if passed.postponed:
            total = self.state.postponed + len(passed.postponed)
            self.state = msgspec.structs.replace(self.state, postponed=total)
        return requests, tuple(Postponed(KIND, owner) for owner in passed.postponed)

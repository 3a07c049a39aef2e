"""Throttling reflection: the cadence in force, who set it, and which owners wait because of it.

At the end of each interval the controller of `cogitate.scheduler.steering.pressure` takes a step, unless an operator
has pinned the cadence or the settings turn the controller off; `cogitate.scheduler.steering.postponing` then chooses
the owners that may reflect. A reflection that the host requests itself is never held back. Without pressure, throttling
has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from cogitate.memory.clock import day_of
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.budget import BudgetView
from cogitate.scheduler.budget.rules import ThrottleRules
from cogitate.scheduler.config.controls import FULL, SetCadence
from cogitate.scheduler.journal.lines import Ended, Postponed, Stepped
from cogitate.scheduler.steering.postponing import Postponing
from cogitate.scheduler.steering.pressure import QUIET, Seen, burn, judge, next_factor
from cogitate.tasks.job import Request
from cogitate.tasks.reflect import salience

KIND = "reflect"


class ThrottleState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cadence in force and the controller's inputs, as a run stores them."""

    factor: int = FULL  # thousandths of the usual cadence
    pinned: bool = False  # by an operator
    seen: Seen = Seen()  # in the current interval
    quiet: int = 0  # consecutive intervals without ended jobs
    causes: dict[str, int] = msgspec.field(default_factory=dict)  # percent, in the last interval
    pressing: tuple[str, ...] = ()  # the causes that slowed it down
    postponed: int = 0  # postponements so far in the run


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

        Return the note for the journal, or None when the cadence is the usual one and nothing presses.
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
        """Return the requests to make now, formerly postponed ones included, and the new postponements.

        Args:
            before: game time of the previous tick.
            interval: game minutes between two reflections at the usual cadence.
            again: returns the requests that are due now for a (kind, owner) that was waiting.
            enough: accumulated importance that makes an owner due; None: only time does.
        """
        if self.state.factor >= FULL and not self.postponing.waiting:
            return list(due), ()
        own = {request.owner: request for request in due if request.kind == KIND}
        is_last = day_of(minute + max(HOUR, minute - before)) > day_of(minute)  # of the day
        passed = self.postponing.sift(
            own,
            factor=self.state.factor,
            minute=minute,
            interval=interval,
            # Owners that reflect once or twice a day (streams design) must do so however long an outage is.
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

"""The controller of reflection's cadence: it halves the cadence for each interval under pressure, and later doubles it.

Pressure has three causes, each measured over the past interval, in percent:

* `late`: jobs without a result when due; in a paced run, long queues and an overloaded endpoint show up here;
* `failed`: jobs whose model failed, or that were abandoned as dead;
* `budget`: how fast the day's budget is spent, relative to how fast the day passes (100: at the same rate). It counts
  only once half of the budget is spent.

Each cause has a threshold at which it presses and a lower one at which it eases. Between the two nothing changes, and
the controller takes one step per interval, so the cadence does not oscillate. An interval without ended jobs is no
evidence; only after several of them does the cadence rise by a step.

The inputs are the journal's records of ended jobs and admission's view of the budget, never a clock or the length of a
queue: those differ between two runs with the same results.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cogitate.memory.clock import DAY
from cogitate.scheduler.budget.budget import BudgetView, Cell, window_of
from cogitate.scheduler.config.controls import FULL
from cogitate.scheduler.config.limits import LIMIT_UNITS
from cogitate.scheduler.ledger.claims import Reason

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
    oldest: int = 0  # ticks between enqueue and end of the oldest late job

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
    """The verdict on an interval."""

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
    """Return the cadence after an interval, in thousandths: one step down, one up, or unchanged.

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
    """Return how fast the fullest window uses up the day's budget, in percent of the pace at which the day passes.

    The budget here is what admission may grant: the limit without its retry pool.
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

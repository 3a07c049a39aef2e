"""The controller of reflection's cadence: it halves it for each interval under pressure, and doubles it afterwards.

Pressure has three causes, each a share of the past interval, in percent:

* `late`: jobs whose result was missing when due; in a paced run long queues and an overloaded endpoint show up here;
* `failed`: jobs whose model failed, or that were abandoned as dead;
* `budget`: how much faster than the day passes the day's room in the budget is used up (100: at the same pace). It
  counts only once half of the room is gone.

Each cause has a threshold at which it presses and a lower one below which it eases; between the two nothing changes,
and there is one step an interval, so that the cadence cannot swing. An interval without ended jobs says nothing:
only after several of them the cadence eases by a step.

All inputs are the journal's facts of ended jobs, and admission's view. None is a clock or a queue's length, which
differ between two runs with the same results.
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
LEAST_BAD = 2  # jobs: a single one is no pressure
HALF_GONE = 50  # percent of a room, from which the pace of the budget counts
QUIET = 4  # intervals without an ended job, after which the cadence eases by a step


class Seen(msgspec.Struct, frozen=True, omit_defaults=True):
    """The jobs that ended in an interval."""

    ended: int = 0  # jobs for workers
    late: int = 0
    failed: int = 0  # or dead
    oldest: int = 0  # ticks between enqueue and end of the oldest late job

    def with_ended(self, reason: Reason, age: int) -> Seen:
        """Return the interval with one more job; refused jobs, and those cancelled as an owner left, do not count."""
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

    causes: dict[str, int]  # percent, of each cause above 0
    pressing: tuple[str, ...]  # causes at or above their threshold
    easing: bool


def judge(seen: Seen, burn: int) -> Verdict:
    """Return the verdict on an interval with these ended jobs, and the budget's pace in percent."""
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
        known: jobs ended in the interval, or none did for long enough; otherwise the interval says nothing.
        least: the slowest cadence that the controller sets, in thousandths.
    """
    if verdict.pressing:
        return max(min(least, factor), factor // 2)
    if verdict.easing and known:
        return min(FULL, max(least, factor * 2))
    return factor


def burn(view: BudgetView, kind: str, minute: int) -> int:
    """Return how fast the fullest window uses up the day's room, in percent of the pace at which the day passes.

    Room is what admission may give out: the limit without its retry pool.
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

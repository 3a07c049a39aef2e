"""The times at which a plan and its items begin and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cogitate.memory.clock import DAY, clock_time, day_of, next_morning
from cogitate.tasks import timing
from cogitate.tasks.heuristics.plans.day_plan import Slot
from cogitate.tasks.kind import Case
from cogitate.tasks.recall import delay_of

FROM = "from"  # parameter: game time at which the plan begins; by default, when it is requested
LATE = 30  # minutes: an item planned for this long ago begins now; an older one is over
SOON = 5  # game minutes: an item that begins this long before the plan takes effect is still under way then


def window(case: Case) -> tuple[int, int]:
    """Return the game times at which the plan begins and ends.

    It begins at its request, or at the morning that it is for. A plan that takes effect more than `SOON` later begins
    then, since earlier items would be over.
    """
    requested = case.job.minute
    start = max(requested, case.job.param(FROM, requested))
    effective = requested + delay_of(case)
    start = start if effective - start <= SOON else effective
    if not case.world.clock.has_times:
        return start, start + DAY
    return start, next_morning(start, timing.morning_of(case.job.key.owner, case.world))


def within(clock: int, start: int, end: int) -> int | None:
    """Return the game time at which an item begins if it is within the plan or up to `LATE` before it, else None."""
    midnight = day_of(start) * DAY
    for minute in (midnight + clock, midnight + DAY + clock):
        if start <= minute < end:
            return minute
    return midnight + clock if 0 < start - (midnight + clock) <= LATE else None


def one_after_another(timed: Iterable[Slot], start: int) -> list[Slot]:
    """Return the slots in order of time, without repeats and without those that are over.

    Raises:
        ValueError: if two different slots begin at the same time.
    """
    slots: dict[int, Slot] = {}
    for slot in sorted(timed, key=lambda s: s.minute):
        other = slots.setdefault(slot.minute, slot)
        if (other.text.casefold(), other.location) != (slot.text.casefold(), slot.location):
            raise ValueError(
                f"two plan items begin at {clock_time(slot.minute)}: {other.text!r} and {slot.text!r}; "
                "give them different times"
            )
    begun = [minute for minute in slots if minute <= start]
    for minute in begun[:-1]:  # each ended when the next began
        del slots[minute]
    return [replace(slot, minute=max(minute, start)) for minute, slot in slots.items()]

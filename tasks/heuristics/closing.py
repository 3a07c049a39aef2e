"""Closed matters: promises and announcements that later evidence, or the clock, has settled.

Plans, reflections and themes all ask this module, so none treats as open what another treats as closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from cogitate.memory.appointments import Appointment, appointments, names_time, standing
from cogitate.memory.clock import DAY, clock_in_force, day_of
from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import languages_of
from cogitate.memory.language.packs import pack_of
from cogitate.memory.language.port import language_called
from cogitate.memory.language.quotations import without_marks
from cogitate.memory.language.times import anchor_days, days_named, find_times, is_over
from cogitate.memory.profile import Location
from cogitate.tasks.heuristics.promises import Promise

AHEAD = 2 * DAY  # game minutes ahead in which to look for appointments


def is_closed(promise: Promise, minute: int) -> bool:
    """Return whether a promise was kept, broken or settled, or its time is over at a game minute."""
    closes = time_of(promise)[2]
    return promise.settled or (closes is not None and closes < minute) or is_over(promise.said, minute, promise.minute)


def is_past(
    sentence: str, entry: Entry, timed: Iterable[Entry | None], places: Sequence[Location], minute: int
) -> bool:
    """Return whether a sentence of an entry announces something past at a game minute, cancelled or moved.

    Args:
        timed: the owner's entries that name a time or call something off.
    """
    if is_over(sentence, minute, entry.minute):
        return clock_in_force().counts_rounds  # a sentence that names its day stays true
    if not names_time(sentence):
        return False
    said = replace(entry, text=sentence)
    announced = appointments([said], places, entry.minute, entry.minute + AHEAD)
    later = (e for e in timed if e is not None and e.number > entry.number and e.type != "reflection")
    still = announced and standing(announced, [said, *later])
    return bool(announced) and not any(_is_to_come(item, announced, minute) for item in still)


def _is_to_come(item: Appointment, announced: Sequence[Appointment], minute: int) -> bool:
    return item.minute >= minute and item in announced


def time_of(promise: Promise) -> tuple[int, int | None, int | None]:
    """Return the first day of a promise, the minute at which it is to be kept, and the last at which it can be."""
    if not clock_in_force().counts_days:
        return 0, None, None
    words = promise.said[max(0, promise.said.find(promise.deed)) :]
    code = languages_of(promise.said)[0]
    language, pack = language_called(code), pack_of(code)
    dated = anchor_days(without_marks(words), promise.minute, pack)
    days, hours = days_named(dated, pack), [time.minute for time in find_times(dated, pack)]
    opens = min(days) if days and not language.is_deadline(dated) else 0
    if language.is_often(dated) or not (days or hours or language.ends_in_a_day(dated)):
        return opens, None, None
    if not (days or hours):
        days = [day_of(promise.minute)]
    if not days:
        today = day_of(promise.minute)
        days = [today if today * DAY + hours[0] > promise.minute else today + 1]
    closes = max(days) * DAY + (hours[-1] if hours else DAY - 1)
    return opens, max(days) * DAY + hours[0] if hours else None, closes

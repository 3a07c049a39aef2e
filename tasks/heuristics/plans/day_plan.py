"""A day's plan without a model: promises, appointments, unfinished items, pressing matters, and the routine.

The plan invents nothing: it has meals, work and sleep only if the host's routine names them. An occupation with a known
place of work counts as work. If nothing is known, the plan has one open item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

from cogitate.memory.appointments import Appointment
from cogitate.memory.clock import DAY, day_of
from cogitate.memory.language.languages import ENGLISH, function_words_of, languages_of
from cogitate.memory.language.packs import Pack, forget_with_packs, pack_of, packs, phrases_of
from cogitate.memory.language.sentences import SPACED, UNSPACED, split_sentences
from cogitate.memory.language.text import stem, stems
from cogitate.memory.language.times import find_times
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import PlaceIndex, Profile
from cogitate.memory.routines import Habit, read_routine
from cogitate.tasks.heuristics.identity import GOING_ON, pursuit_of, work_of
from cogitate.tasks.heuristics.plans.called_off import calls_off_habit
from cogitate.tasks.heuristics.whereabouts import place_of
from cogitate.tasks.meters import Meter

FEWEST, MOST = 5, 8  # items of a plan (streams design); a heuristic's may have fewer
COLLIDES = (-45, 60)  # minutes around an appointment in which habits give way
MOST_SAID = 2  # items that talk sets for the day
STEP = 15  # minutes at least between items, where the time allows it
ALIKE = 0.5  # an appointment with this share of a habit's words replaces the habit
UNDER_WAY = 90  # minutes after which a habit without an end is over
LEFT = 60  # minutes that a habit with an end must have left to be begun late
_TAKEN_UP = (630, 900, 1080)  # preferred minutes after midnight for yesterday's unfinished items
LONGEST_QUOTE = 100  # characters of a concern or an observation that a plan quotes
AGAIN = "Take up again: "  # label of an unfinished item
ERRANDS = "See to what comes up"  # the only item if nothing is known
NOTHING_KNOWN, WORK = "errands", "work"  # phrases
SEE_TO = "Needs attention: "  # label of a pressing matter
SEE_TO_THIS = "See to this: "  # label of an item that quotes the profile
DUE, LEFT_UNDONE, PRESSING, FIRM, CLOSING, USUAL, OPEN = range(7)  # ranks: a full plan drops the highest first
_AT_PLACE = re.compile(r"(?<!\s)\s++(?:at|of|in|for)\s++")


@cache
def _openings() -> tuple[str, ...]:
    """Return the label of an unfinished item in every language."""
    known = (pack_of(language) for language in packs())
    return (AGAIN, *(pack.labelled(again, "") for pack in known if (again := pack.phrase("again"))))


forget_with_packs(_openings.cache_clear)


def first_said(description: str) -> str:
    """Return an item's description without the label of an unfinished item, in any language."""
    return next((description.removeprefix(way) for way in _openings() if description.startswith(way)), description)


@dataclass(frozen=True)
class Slot:
    """A planned item before it gets its id. A full plan keeps the lowest `rank`."""

    minute: int
    text: str
    location: str | None
    priority: int
    rank: int
    phrase: str = ""  # key of its phrase in the packs of other languages; "": `text` unchanged


@dataclass(frozen=True, kw_only=True)
class Owner:
    """The owner of a plan: its profile, routine and places, and the language of its items."""

    profile: Profile
    places: PlaceIndex
    routine: str | tuple[str, ...] = ""  # from the profile, or inherited
    visits: Mapping[str, int] = field(default_factory=dict)  # recent visits by place id
    done: Collection[str] = ()  # one-time wishes that it has fulfilled
    language: str = ENGLISH


@dataclass(frozen=True, kw_only=True)
class Duties:
    """The contents of a day besides the routine."""

    booked: Sequence[Appointment] = ()
    due: Sequence[Appointment] = ()  # deadlines
    said: Sequence[str] = ()  # for the day, without an hour; the newest last
    owed: Sequence[str] = ()  # promises, the oldest first
    pressing: Sequence[str] = ()  # observed trouble, the most important first
    status: Mapping[str, Meter] = field(default_factory=dict)
    unfinished: Sequence[Mapping[str, object]] = ()
    called_off: Sequence[str] = ()  # sentences that cancel habits
    is_off: bool = False  # the owner has the day off


def build(owner: Owner, duties: Duties, window: tuple[int, int]) -> list[Slot]:
    """Return 1 to 8 slots with ascending times in a window [start, end), game minutes."""
    (start, end), midnight = window, day_of(window[0]) * DAY
    told = _teller(owner)
    timed, untimed = _usual(owner, duties, start, end)
    late = [slot.minute for slot in timed if slot.rank <= CLOSING and slot.minute >= (start + end) // 2]
    closes = min(max(late, default=start + (end - start) * 2 // 3), end)  # a third of a day is for rest
    timed += [Slot(a.minute, a.what, a.location, 5, DUE) for a in duties.booked[:MOST]]
    meters = (f"{name} {meter.named}" for name, meter in sorted(duties.status.items()) if meter.presses)
    pressing = enumerate((*duties.pressing, *meters))
    slots = [told(Slot(start + 30 * at, SEE_TO + what, None, 5, PRESSING, "see_to")) for at, what in pressing]
    slots += timed
    left = [Slot(0, text, None, 4, LEFT_UNDONE) for text in (*duties.owed[:1], *duties.said[-MOST_SAID:])]
    usual = (Slot(0, habit.what, None, 3, OPEN) for habit in read_routine(owner.routine, owner.profile.name))
    left += _taken_up(owner, duties, [*slots, *left, *untimed, *usual])
    for one in duties.due[:MOST_SAID]:
        slot = Slot(0, one.what, one.location, 4, LEFT_UNDONE)
        slots.append(_at(slot, _free(slots, midnight + _TAKEN_UP[0], start, min(closes, max(one.minute, start + 1)))))
    for minute, slot in zip(_TAKEN_UP, left, strict=False):
        slots.append(_at(slot, _free(slots, midnight + minute, start, closes)))
    for slot in untimed:
        slots.append(_at(slot, _free(slots, None, start, closes)))
    slots = slots or [told(Slot(start, ERRANDS, None, 3, OPEN, NOTHING_KNOWN))]
    slots.sort(key=lambda s: (s.rank, s.minute))
    return _spread(sorted(slots[:MOST], key=lambda s: (s.minute, s.rank)), start, end)


def _usual(owner: Owner, duties: Duties, start: int, end: int) -> tuple[list[Slot], list[Slot]]:
    """Return the slots of the routine that the appointments leave: those with a time, and those without."""
    profile, places = owner.profile, owner.places
    timed, untimed = (
        [
            slot
            for slot in slots
            if not _is_called_off(slot.text, duties) and not (duties.is_off and _is_out(slot, owner))
        ]
        for slots in _habits(owner, start, end)
    )
    # A guessed place of work only stands in for a missing routine.
    works = (profile.work or not owner.routine) and not duties.is_off
    work = _work(profile, places) if works else None
    occupied, has_habits = "" if owner.done else _occupied(profile, owner.language), bool(timed or untimed)
    if work and all(slot.location != work.location for slot in (*timed, *untimed)):
        untimed.append(_teller(owner)(work))
    planned = len(timed) + len(untimed) + len(duties.booked)
    goes_on = occupied.startswith(GOING_ON) and planned < FEWEST
    if occupied and (goes_on or not has_habits):  # a wish only fills a day without habits
        untimed.append(Slot(0, occupied, None, 4, OPEN))
    if not timed:
        step = (end - start) // max(4, len(untimed) + 1)
        timed, untimed = [_at(slot, start + index * step // STEP * STEP) for index, slot in enumerate(untimed)], []
    return _around([slot for slot in timed if slot.text not in owner.done], duties.booked, places), untimed


def _is_out(slot: Slot, owner: Owner) -> bool:
    return slot.location is None or slot.location != owner.profile.home


def _is_called_off(text: str, duties: Duties) -> bool:
    return any(calls_off_habit(sentence, text) for sentence in duties.called_off)


def _habits(owner: Owner, start: int, end: int) -> tuple[list[Slot], list[Slot]]:
    """Return the slots of a routine in a plan's window: those with a time, and those without."""
    places = owner.places
    habits = read_routine(owner.routine, owner.profile.name)
    timed = _in_window(habits, start, end)
    at = {index: minute for minute, index in timed}
    untimed = [(_between(i, habits, at, start, end), i) for i, one in enumerate(habits) if one.begins is None]
    slots: list[Slot] = []
    for minute, index in (*timed, *untimed):
        habit = habits[index]
        place = place_of(habit, owner.profile, places, visits=owner.visits, day=day_of(start))
        matters = (3, OPEN) if habit.begins is None or habit.loose else (4, USUAL) if habit.ends is None else (5, FIRM)
        slots.append(Slot(minute, _text(habit, place, places, owner.language), place, *matters))
    if not at:
        return [], slots
    slots.sort(key=lambda slot: slot.minute)
    last = slots[-1]
    if last.rank == USUAL and last.minute >= (start + end) // 2:
        slots[-1] = replace(last, rank=CLOSING)
    return slots, []


def _in_window(habits: Sequence[Habit], start: int, end: int) -> list[tuple[int, int]]:
    """Return (minute in [start, end), index) of each habit with a time, in order of time.

    A habit under way at the start begins then, unless another one does. A habit that may still be under way when the
    next plan begins is left to that plan.
    """
    timed = sorted(((one.begins - start) % DAY, at) for at, one in enumerate(habits) if one.begins is not None)
    begun = [at for after, at in reversed(timed) if DAY - after <= _longest_ago(habits[at])]
    ahead = [(start + after, at) for after, at in timed if start + after < end - UNDER_WAY]
    return ahead if ahead and ahead[0][0] == start else [*((start, at) for at in begun[:1]), *ahead]


def _between(index: int, habits: Sequence[Habit], at: Mapping[int, int], start: int, end: int) -> int:
    """Return a minute for a habit without a time: between its neighbours in the routine."""
    known = [-1, *sorted(at), len(habits)]
    before, after = max(one for one in known if one < index), min(one for one in known if one > index)
    early, late = at.get(before, start), at.get(after, end)
    if late <= early:
        late = end
    return early + (late - early) * (index - before) // (after - before) // STEP * STEP


def _longest_ago(habit: Habit) -> int:
    """Return how many minutes ago a habit that is still under way may have begun."""
    if habit.begins is None or habit.ends is None:
        return UNDER_WAY
    return ((habit.ends - habit.begins) % DAY or DAY) - LEFT - 1


def _text(habit: Habit, place: str | None, places: PlaceIndex, language: str) -> str:
    name = places.name_of(place) if place else habit.place
    if not habit.what:
        return next(iter(places.activities_of(place)), name)
    what = _sentence(habit.what) if habit.prose and language == ENGLISH else habit.what
    return what.replace("{place}", name)


def _around(slots: Sequence[Slot], booked: Sequence[Appointment], places: PlaceIndex) -> list[Slot]:
    """Return the slots that appointments leave; an appointment for dinner replaces the usual dinner.

    The closing habit of the day begins at least an hour after the last appointment.
    """
    kept = [slot for slot in slots if slot.rank <= CLOSING or not any(_gives_way(slot, a, places) for a in booked)]
    if kept and booked and kept[-1].rank == CLOSING:
        last = kept[-1].minute
        # It follows the appointments of its own day, not those of the night after it.
        ends = (a.minute + COLLIDES[1] for a in booked if day_of(a.minute) == day_of(last))
        kept[-1] = _at(kept[-1], max((last, *ends)))
    return kept


def _gives_way(slot: Slot, appointment: Appointment, places: PlaceIndex) -> bool:
    if COLLIDES[0] < slot.minute - appointment.minute < COLLIDES[1]:
        return True
    small = function_words_of(languages_of(appointment.what)[0])  # both may have "of the"
    words = set(stems(slot.text)) - set(stems(places.name_of(slot.location or ""))) - set(map(stem, small))
    return len(words & set(stems(appointment.what))) >= ALIKE * max(1, len(words))


def _teller(owner: Owner) -> Callable[[Slot], Slot]:
    """Return a function that puts a slot into the language of a plan, by the pack's phrases, the profile and places."""
    if owner.language == ENGLISH:
        return lambda slot: slot
    phrases = pack_of(owner.language)
    return lambda slot: replace(slot, text=_told(slot, phrases, owner.profile, owner.places))


def _told(slot: Slot, phrases: Pack, profile: Profile, places: PlaceIndex) -> str:
    what = {
        "again": first_said(slot.text),
        "see_to": slot.text.removeprefix(SEE_TO),
    }.get(slot.phrase, "")
    at_home = not slot.location or slot.location == profile.home
    place = "" if at_home or slot.phrase == "again" else places.name_of(slot.location or "")
    said = phrases.to_do(slot.phrase, what, place)
    return said or places.name_of(slot.location or profile.home) or profile.occupation or profile.name


def _work(profile: Profile, places: PlaceIndex) -> Slot | None:
    """Return the work of an agent at its known place of work. An occupation alone may be past, or on leave."""
    role, work = profile.occupation.strip(), work_of(profile, places.places)
    if not role or not work:
        return None
    place = places.name_of(work) if work != profile.home else ""
    role = _AT_PLACE.split(role, maxsplit=1)[0] if place and place in role else role
    article = "" if re.match(r"(?:a|an|the)\s", role, re.I) else "an " if role[:1].lower() in "aeiou" else "a "
    return Slot(0, f"Work at {place or 'home'} as {article}{role}", work, 4, OPEN, WORK)


def is_work(description: str, profile: Profile) -> bool:
    """Return whether an item is a profile's work, in any language. Each plan adds work anew."""
    role = profile.occupation.strip()
    if description.startswith("Work ") and role and description.endswith(role):
        return True
    ways = (pack_of(language).phrase(WORK) for language in packs())
    return any(way and (description == way or description.startswith((f"{way} (", f"{way}（"))) for way in ways)


def _occupied(profile: Profile, language: str) -> str:
    """Return an agent's current pursuit in the words of its profile. Timed sentences are booked elsewhere."""
    if language == ENGLISH and (pursuit := pursuit_of(profile)):
        return pursuit
    untimed = " ".join(s for s in split_sentences(profile.currently) if not find_times(s))
    if language != ENGLISH:
        return shorten(untimed.rstrip(SPACED + UNSPACED), LONGEST_QUOTE, "…")
    words = shorten(untimed.replace('"', "'").rstrip(SPACED + UNSPACED), LONGEST_QUOTE, "…")
    return f'{SEE_TO_THIS}"{words}"' if words else ""


def _taken_up(owner: Owner, duties: Duties, slots: Sequence[Slot]) -> list[Slot]:
    """Return yesterday's unfinished items that today's plan does not repeat, the most important first."""
    left = [item for item in duties.unfinished if not _is_called_off(_description(item), duties)]
    left.sort(key=lambda item: -_priority(item))
    if not left:  # as in most plans: skip the stems of today's slots
        return []
    seen = [set(stems(slot.text)) for slot in slots]
    phrases, told = pack_of(owner.language), _teller(owner)
    found: list[Slot] = []
    for item in left:
        text = _description(item)
        words = set(stems(text))
        if not words or text == ERRANDS or text in phrases_of("errands"):
            continue
        if phrases.without("see_to", text.removeprefix(SEE_TO)) != text:
            continue  # a pressing matter that the plan has taken up
        if any(len(words & other) >= 0.6 * len(words) for other in seen):
            continue
        if len(found) == len(_TAKEN_UP):
            break
        seen.append(words)
        place = str(item.get("location") or "")
        at = place if place in owner.places.order else None
        found.append(told(Slot(0, f"{AGAIN}{text}", at, _priority(item), LEFT_UNDONE, "again")))
    return found


def _description(item: Mapping[str, object]) -> str:
    return first_said(str(item.get("description", "")))


def _priority(item: Mapping[str, object]) -> int:
    priority = item.get("priority")
    return priority if isinstance(priority, int) else 3


def _sentence(text: str) -> str:
    """Return a habit in the third person ("takes a walk") as something to do ("Take a walk")."""
    first, _, rest = text.partition(" ")
    if first.isascii() and first.endswith("s") and not first.endswith("ss"):
        first = {"goes": "go", "does": "do", "has": "have", "watches": "watch"}.get(first.lower(), first[:-1])
    return f"{first[:1].upper()}{first[1:]} {rest}".strip()


def _at(slot: Slot, minute: int) -> Slot:
    return replace(slot, minute=minute)


def _free(slots: Sequence[Slot], wanted: int | None, start: int, end: int) -> int:
    """Return the wanted minute if nothing is within 45 minutes of it; otherwise the middle of the largest gap."""
    taken = sorted(s.minute for s in slots)
    if wanted is not None and start <= wanted < end and all(abs(wanted - m) >= 45 for m in taken):
        return wanted
    edges = [start, *(m for m in taken if start < m < end), end]
    gap, left = max((b - a, -a) for a, b in pairwise(edges))
    middle = -left + gap // 2
    return max(-left, middle - middle % STEP)


def _spread(slots: Sequence[Slot], start: int, end: int) -> list[Slot]:
    """Return the slots with times at least `STEP` apart where the window allows it, all in [start, end)."""
    step = max(0, min(STEP, (end - start - 1) // max(1, len(slots))))
    minutes: list[int] = []
    for slot in slots:
        minutes.append(max(slot.minute, start, minutes[-1] + step if minutes else start))
    for index in range(len(minutes) - 1, -1, -1):
        latest = end - 1 if index == len(minutes) - 1 else minutes[index + 1] - step
        minutes[index] = max(start, min(minutes[index], latest))
    return [_at(slot, minute) for slot, minute in zip(slots, minutes, strict=True)]

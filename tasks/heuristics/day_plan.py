"""A day's plan without a model: routine, occupation, appointments, unfinished items, needs and places.

For an agent with a home, a place of work or a routine it begins with the streams design's fallback day (task 7:
breakfast, work, lunch, work, company, home) moved to the hours of the agent's own routine. Appointments displace what
they collide with; then what matters least goes, or small habits fill the largest gaps, until there are 5 to 8 items in
ascending order within the plan's validity. Any other agent may neither eat nor sleep: its plan is its work, what
occupies it, and what is appointed, promised, needed and unfinished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from cogitate.memory.appointments import Appointment
from cogitate.memory.clock import DAY, day_of
from cogitate.memory.language.endings import SPACED, UNSPACED
from cogitate.memory.language.languages import ENGLISH
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.text import stems
from cogitate.memory.language.times import find_times
from cogitate.memory.language.truncation import shorten
from cogitate.memory.profile import Location, Profile
from cogitate.tasks.heuristics.identity import GOING_ON, Routine, pursuit_of, read_routine, role_of, work_of
from cogitate.tasks.heuristics.spoken import Phrases, phrases_of
from cogitate.tasks.heuristics.whereabouts import eating_place, social_place
from cogitate.tasks.meters import Meter

FEWEST, MOST = 5, 8  # items of a plan (streams design)
COLLIDES = (-45, 60)  # minutes around an appointment in which ordinary items give way
STEP = 15  # minutes at least between items, where the time allows it
_TAKEN_UP = (630, 900, 1080)  # minutes after midnight at which yesterday's unfinished items are best taken up again
LONGEST_PURSUIT = 100  # characters of what occupies somebody, as it stands in a plan in another language
AGAIN = "Take up again: "  # opens an item that was left undone
ERRANDS = "See to what comes up"  # the item of a day for which nothing is known
SEE_TO = "See to it: "  # opens an item about a meter that presses
SEE_TO_THIS = "See to this: "  # opens an item in the words of a profile
EATEN_INSTEAD = 120  # minutes before a meal in which one that is very hungry eats in its place
_MEALS = ("breakfast", "lunch", "dinner")  # phrases
_AT_PLACE = re.compile(r"(?<!\s)\s++(?:at|of|in|for)\s++")
_RETIRED = re.compile(r"\b(?:pensioner|retired|retiree)\b", re.I)


@dataclass(frozen=True)
class Slot:
    """A planned item before it gets its id. `rank`: what is given up last is 0."""

    minute: int
    text: str
    location: str | None
    priority: int
    rank: int
    phrase: str = ""  # which says it in another language than English; "": the text, as it is


class _Usual(NamedTuple):
    """Places where an agent eats and meets people on this day, and its occupation."""

    eat: str | None
    meet: str | None
    pursuit: str


def build(
    *,
    profile: Profile,
    places: Sequence[Location],
    start: int,
    end: int,
    booked: Sequence[Appointment],
    unfinished: Sequence[Mapping[str, object]],
    status: Mapping[str, Meter],
    visits: Mapping[str, int] | None = None,
    done: Collection[str] = (),
    owed: Sequence[str] = (),
    language: str = ENGLISH,
) -> list[Slot]:
    """Return slots with ascending times in [start, end), game minutes: 5 to 8, or at least 1 without a usual day.

    Args:
        visits: how often the agent was at a place lately, by id.
        done: what it wished to do once and has done.
        owed: what it promised somebody to do, the oldest first.
        language: in which the items are told.
    """
    routine = read_routine(profile.routine, profile.name)
    midnight = day_of(start) * DAY
    bed = max([midnight + routine.bed, min(start + 5 * STEP, end - 1), *(a.minute + COLLIDES[1] for a in booked)])
    work, day = work_of(profile, places), day_of(start)
    eat = eating_place(profile, places, visits or {}, day, work)
    meet = social_place(profile, places, visits or {}, day, work)
    pursuit = pursuit_of(profile) if language == ENGLISH else _quoted_pursuit(profile)
    pursuit = "" if pursuit in done else pursuit
    usual = _Usual(eat, meet, pursuit)
    has_days = bool(profile.home or profile.work or profile.routine.strip())
    if has_days:
        slots = [s for s in _ordinary(profile, places, routine, midnight, start, bed, usual) if start <= s.minute < end]
    else:
        occupied = pursuit or ("" if done else _occupied(profile, language))
        slots, bed = _work(profile, places, start, end, occupied), end
    for appointment in booked[:MOST]:
        early, late = appointment.minute + COLLIDES[0], appointment.minute + COLLIDES[1]
        meal = re.search(r"\b(?:lunch|dinner|supper)\b", appointment.what, re.I)
        instead = {"lunch": "lunch", "supper": "dinner", "dinner": "dinner"}[meal[0].lower()] if meal else "\0"
        slots = [s for s in slots if s.rank <= 1 or (not early < s.minute < late and instead not in s.text)]
        slots.append(Slot(appointment.minute, appointment.what, appointment.location, 5, 0))
    if not has_days:
        slots = slots or [Slot(start, ERRANDS, None, 3, 5, "errands")]
    phrases = Phrases(language)
    told = _teller(phrases, language, profile, places)
    needs, slots = _fed(_needs(profile, places, start, status, eat if has_days else None), slots)
    slots = [told(slot) for slot in (*needs, *slots)]
    promised = [Slot(0, text, None, 4, 2) for text in owed[:1]]
    for minute, slot in zip(_TAKEN_UP, [*promised, *_taken_up(unfinished, slots, places, told, phrases)], strict=False):
        slots.append(_at(slot, _free(slots, midnight + minute, start, min(bed, end))))
    for filler in map(told, _fillers(profile, places, pursuit) if has_days else ()):
        if len(slots) >= FEWEST:
            break
        if not any(_is_same(filler, slot) for slot in slots):
            slots.append(_at(filler, _free(slots, None, start, min(bed, end))))
    slots.sort(key=lambda s: (s.rank, s.minute))
    return _spread(sorted(slots[:MOST], key=lambda s: (s.minute, s.rank)), start, end)


def _teller(phrases: Phrases, language: str, profile: Profile, places: Sequence[Location]) -> Callable[[Slot], Slot]:
    """Return what tells a slot in a language: in phrases of it, with what the profile and the places say."""
    if language == ENGLISH:
        return lambda slot: slot
    return lambda slot: replace(slot, text=_told(slot, phrases, profile, places))


def _told(slot: Slot, phrases: Phrases, profile: Profile, places: Sequence[Location]) -> str:
    if not slot.phrase:
        return slot.text
    what = {
        "work": role_of(profile),
        "again": phrases.without_again(slot.text.removeprefix(AGAIN)),
        "see_to": slot.text.removeprefix(SEE_TO),
    }.get(slot.phrase, "")
    at_home = not slot.location or slot.location == profile.home
    place = "" if at_home or slot.phrase == "again" else _name(slot.location or "", places)
    said = phrases.to_do(slot.phrase, what, place)
    return said or _name(slot.location or profile.home, places) or profile.occupation or profile.name


def _work(profile: Profile, places: Sequence[Location], start: int, end: int, pursuit: str) -> list[Slot]:
    """Return the slots of an agent that has no usual day: its work, and what occupies it."""
    working = _working(profile, places, "") if role_of(profile) else ""
    slots = [Slot(0, text, None, 4, 1, phrase) for text, phrase in ((working, "work"), (pursuit, "")) if text]
    step = (end - start) // 4
    return [_at(slot, start + index * step) for index, slot in enumerate(slots)]


def _ordinary(
    profile: Profile,
    places: Sequence[Location],
    routine: Routine,
    midnight: int,
    start: int,
    bed: int,
    usual: _Usual,
) -> list[Slot]:
    """Return the slots of the usual day; times are minutes after midnight until the last line adds the day."""
    home = profile.home or None
    work = work_of(profile, places) or home
    eat, pursuit = usual.eat, usual.pursuit
    up = max(routine.wake, start - midnight if 0 < start - midnight - routine.wake <= 90 else 0)
    begin, finish = routine.work or (max(540 if work != home else 480, routine.wake + 60), 1020)
    lunch = routine.lunch if begin < routine.lunch - 30 else begin - 60
    breakfast = up if routine.breakfast is None else routine.breakfast
    slots = [Slot(breakfast, "Get up and have breakfast at home", home, 4, 3, "breakfast")]
    slots.append(Slot(begin, _working(profile, places, pursuit), work, 5, 1, "work"))
    slots.append(Slot(lunch, _with_place("Have lunch", eat, places), eat, 4, 3, "lunch"))
    if max(begin, lunch) + 60 < finish or finish < begin:
        slots.append(Slot(max(begin, lunch) + 60, _continuing(profile, places, pursuit), work, 5, 2, "on"))
    if max(begin, lunch) + 60 < start - midnight < finish - 60:  # who joins during working hours begins at once
        slots.append(Slot(start - midnight, _continuing(profile, places, pursuit), work, 5, 2, "on"))
    slots += [Slot(minute, _sentence(text), None, 3, 2) for minute, text in routine.habits]
    if begin < routine.dinner < finish:
        slots.append(Slot(routine.dinner, "Take a break for dinner", work, 4, 3, "dinner"))
    else:
        slots.append(Slot(routine.dinner, "Have dinner at home", home, 4, 3, "dinner"))
    slots += _free_time(
        profile, places, usual, after=finish + 30 if begin < finish else 1020, dinner=routine.dinner, bed=bed - midnight
    )
    return [*(_at(slot, midnight + slot.minute) for slot in slots), Slot(bed, "Go to bed", home, 4, 1, "bed")]


def _free_time(
    profile: Profile, places: Sequence[Location], usual: _Usual, *, after: int, dinner: int, bed: int
) -> list[Slot]:
    """Return the slots after work: the agent's current occupation, unless its work is on that, and company."""
    meet, pursuit = usual.meet, usual.pursuit
    wanted = [Slot(0, _with_place("Relax and meet people", meet, places), meet, 3, 5, "relax")]
    place = _name(work_of(profile, places), places)  # an occupation that names it is the work itself
    if (
        pursuit
        and pursuit not in (_working(profile, places, pursuit), _continuing(profile, places, pursuit))
        and not (place and place in pursuit)
    ):
        wanted.insert(0, Slot(0, pursuit, None, 3, 4))
    minutes = [minute for minute in (max(after, 960), dinner + 75, dinner + 150) if minute <= bed - 45]
    minutes = [minute for minute in minutes if not -60 < minute - dinner < 60]
    return [_at(slot, minute) for slot, minute in zip(wanted, minutes, strict=False)]


def _needs(
    profile: Profile, places: Sequence[Location], start: int, status: Mapping[str, Meter], eat: str | None
) -> list[Slot]:
    home = profile.home or None
    slots: list[Slot] = []
    for name, meter in sorted(status.items(), key=lambda one: (one[0] != "hunger", one[0])):
        minute = start + len(slots) * 30
        if not meter.presses:
            continue
        if name == "hunger":
            slots.append(Slot(minute, _with_place("Eat something, being very hungry,", eat, places), eat, 5, 0, "eat"))
        elif name == "energy":
            rest = "Rest at home to recover energy" if home else "Rest to recover energy"
            slots.append(Slot(minute, rest, home, 5, 0, "rest"))
        else:
            slots.append(Slot(minute, f"{SEE_TO}{name} {meter.named}", None, 5, 0, "see_to"))
    return slots


def _fed(needs: Sequence[Slot], slots: Sequence[Slot]) -> tuple[list[Slot], list[Slot]]:
    """Return needs and slots in which a need to eat takes the place of the next meal, and no getting up follows it."""
    eat = next((slot for slot in needs if slot.phrase == "eat"), None)
    meals = sorted((slot for slot in slots if slot.phrase in _MEALS), key=lambda slot: slot.minute)
    if eat is None or not meals:
        return [*needs], [*slots]
    late = meals[0].minute - eat.minute > EATEN_INSTEAD
    if late and meals[0].phrase != "breakfast":
        return [*needs], [*slots]
    minute = meals[0].minute if late else eat.minute  # it sleeps until then
    return [_at(n, minute) if n is eat else n for n in needs], [slot for slot in slots if slot is not meals[0]]


def _taken_up(
    unfinished: Iterable[Mapping[str, object]],
    slots: Sequence[Slot],
    places: Sequence[Location],
    told: Callable[[Slot], Slot],
    phrases: Phrases,
) -> list[Slot]:
    """Yesterday's unfinished items that today's plan does not repeat anyway, the most important first."""
    left = sorted(unfinished, key=lambda i: -_priority(i))
    if not left:  # as in most plans: words of today's need not be looked for
        return []
    known = {place.id for place in places}
    seen = [set(stems(slot.text)) for slot in slots]
    found: list[Slot] = []
    for item in left:
        text = phrases.without_again(str(item.get("description", "")).removeprefix(AGAIN))
        words = set(stems(text))
        if not words or text == ERRANDS or text in phrases_of("errands"):
            continue
        if any(len(words & other) >= 0.6 * len(words) for other in seen):
            continue
        if len(found) == len(_TAKEN_UP):
            break
        seen.append(words)
        place = str(item.get("location") or "")
        at = place if place in known else None
        found.append(told(Slot(0, f"{AGAIN}{text}", at, _priority(item), 2, "again")))
    return found


def _occupied(profile: Profile, language: str) -> str:
    """Return what occupies an agent in the words of its profile, where they name no deed; what is timed is booked."""
    if language != ENGLISH:
        return ""
    untimed = " ".join(s for s in split_sentences(profile.currently) if not find_times(s))
    words = shorten(untimed.replace('"', "'").rstrip(SPACED + UNSPACED), LONGEST_PURSUIT, "…")
    return f'{SEE_TO_THIS}"{words}"' if words else ""


def _quoted_pursuit(profile: Profile) -> str:
    """Return what occupies an agent in the words of its profile, without a full stop."""
    return shorten(profile.currently.rstrip(SPACED + UNSPACED), LONGEST_PURSUIT, "…")


def _is_same(one: Slot, other: Slot) -> bool:
    """Return whether two slots say the same. Phrases that a language lacks look alike."""
    return one.text == other.text and (one.phrase == other.phrase or not (one.phrase and other.phrase))


def _priority(item: Mapping[str, object]) -> int:
    priority = item.get("priority")
    return priority if isinstance(priority, int) else 3


def _fillers(profile: Profile, places: Sequence[Location], pursuit: str) -> list[Slot]:
    home = profile.home or None
    outdoors = min(
        (p.id for p in places if "outdoors" in p.tags or p.type in ("park", "plaza", "garden")), default=None
    )
    own = [Slot(0, pursuit, None, 3, 4)] if pursuit else []
    return [
        *own,
        Slot(0, "Tidy up at home", home, 2, 6, "tidy"),
        Slot(0, "Read and rest at home", home, 2, 6, "read"),
        Slot(0, _with_place("Take a walk", outdoors, places), outdoors, 2, 6, "walk"),
        Slot(0, "Think over what happened", home, 2, 6, "think"),
        Slot(0, "Get things ready for tomorrow", home, 2, 6, "ready"),
    ]


def _working(profile: Profile, places: Sequence[Location], pursuit: str) -> str:
    role, work = role_of(profile), work_of(profile, places)
    place = "home" if work and work == profile.home else _name(work, places)
    if place and place in role:
        role = _AT_PLACE.split(role, maxsplit=1)[0]
    if re.search(r"\bstudent\b", role, re.I):
        return f"Study at {place}" if work else "Go to class and study"
    if work and _RETIRED.search(role):
        return f"Spend time at {place}"
    if work:
        text = f"Work at {place}" if place == "home" else f"Go to work at {place}"
        return f"{text} as {_article(role)}" if role else text
    return pursuit or (f"Work as {_article(role)}" if role else "See to the day's errands")


def _continuing(profile: Profile, places: Sequence[Location], pursuit: str) -> str:
    """Return the afternoon's work. Who studies, or works at no place in particular, works on what occupies it."""
    work = work_of(profile, places)
    retired = _RETIRED.search(role_of(profile)) is not None
    own = not work or work == profile.home or "student" in role_of(profile).lower() or retired
    if own and pursuit.startswith(GOING_ON) and pursuit != _working(profile, places, pursuit):
        return pursuit
    if retired and work:
        return f"Stay at {'home' if work == profile.home else _name(work, places)}"
    going_on = "Continue studying" if "student" in role_of(profile).lower() else "Continue working"
    return going_on + (f" at {_name(work, places)}" if work and work != profile.home else "")


def _article(role: str) -> str:
    if re.match(r"(?:a|an|the)\s", role, re.I):
        return role
    return f"{'an' if role[:1].lower() in 'aeiou' else 'a'} {role}"


def _sentence(text: str) -> str:
    """Return a habit in the third person ("takes a walk") as something to do ("Take a walk")."""
    first, _, rest = text.partition(" ")
    if first.isascii() and first.endswith("s") and not first.endswith("ss"):
        first = {"goes": "go", "does": "do", "has": "have", "watches": "watch"}.get(first.lower(), first[:-1])
    return f"{first[:1].upper()}{first[1:]} {rest}".strip()


def _name(place: str, places: Sequence[Location]) -> str:
    return next((p.name for p in places if p.id == place), place)


def _with_place(text: str, place: str | None, places: Sequence[Location]) -> str:
    return f"{text} at {_name(place, places)}" if place else text.rstrip(",")


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

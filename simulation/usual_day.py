"""Builds an inhabitant's routine (streams design, task 7): breakfast, work, lunch, work, company, home."""

from __future__ import annotations

import re

from cogitate.memory.profile import Profile
from cogitate.tasks.heuristics.identity import GOING_ON, pursuit_of

LUNCH, DINNER = 720, 1140  # minutes after midnight
FROM_HOME, FROM_ELSEWHERE = 480, 540  # when work begins by default, in minutes after midnight
_RETIRED = re.compile(r"\b(?:pensioner|retired|retiree)\b", re.IGNORECASE)


def usual_day(
    profile: Profile, work_name: str, *, wake: int = 420, bed: int = 1320, hours: tuple[int, int] | None = None
) -> tuple[str, ...]:
    """Return the routine of an inhabitant; times are minutes after midnight.

    Args:
        work_name: the name of the workplace; "" for a person without one.
        hours: when work begins and ends.
    """
    at_home = not profile.work or profile.work == profile.home
    begin, finish = hours or (max(FROM_HOME if at_home else FROM_ELSEWHERE, wake + 60), 1020)
    lunch = LUNCH if begin < LUNCH - 30 else begin - 60
    again = max(begin, lunch) + 60
    pursuit = pursuit_of(profile)
    working, continuing = _working(profile, work_name, pursuit), _continuing(profile, work_name, pursuit)
    work = f"@{profile.work or 'home'}"
    goes_on = again < finish or finish < begin
    day = [
        f"{_clock(wake)} Get up and have breakfast at home @home",
        f"{_clock(begin)}–{_clock(max(begin, lunch) if goes_on and lunch > begin else finish)} {working} {work}",
        f"{_clock(lunch)} Have lunch at {{place}} @food",
    ]
    if goes_on:
        day.append(f"{_clock(again)}–{_clock(finish)} {continuing} {work}")
    if begin < DINNER < finish:
        day.append(f"{_clock(DINNER)} Take a break for dinner {work}")
    else:
        day.append(f"{_clock(DINNER)} Have dinner at home @home")
    leisure = ["Relax and meet people at {place} @social"]
    if pursuit and pursuit not in (working, continuing) and not (work_name and work_name in pursuit):
        leisure.insert(0, pursuit)
    after = max(finish + 30 if begin < finish else 1020, 960)
    free = [m for m in (after, DINNER + 75, DINNER + 150) if m <= bed - 45 and not -60 < m - DINNER < 60]
    day += [f"~{_clock(minute)} {what}" for minute, what in zip(free, leisure, strict=False)]
    return *sorted(day, key=lambda habit: habit.lstrip("~")), f"{_clock(bed)} Go to bed @home"


def _working(profile: Profile, place: str, pursuit: str) -> str:
    role = profile.occupation
    if "student" in role.lower():
        return f"Study at {place}" if place else "Go to class and study"
    if place and _RETIRED.search(role):
        return f"Spend time at {place}"
    if place:
        text = f"Work at {place}" if place == "home" else f"Go to work at {place}"
        return f"{text} as {_article(role)}"
    return pursuit or f"Work as {_article(role)}"


def _continuing(profile: Profile, place: str, pursuit: str) -> str:
    """Return the afternoon's work: the person's pursuit for students, the retired and those who work at home or at no
    particular place.
    """
    retired, studies = _RETIRED.search(profile.occupation) is not None, "student" in profile.occupation.lower()
    own = not place or place == "home" or studies or retired
    if own and pursuit.startswith(GOING_ON) and pursuit != _working(profile, place, pursuit):
        return pursuit
    if retired and place:
        return f"Stay at {place}"
    return ("Continue studying" if studies else "Continue working") + (
        f" at {place}" if place and place != "home" else ""
    )


def _article(role: str) -> str:
    return f"{'an' if role[:1].lower() in 'aeiou' else 'a'} {role}"


def _clock(minute: int) -> str:
    return f"{minute // 60 % 24:02}:{minute % 60:02}"

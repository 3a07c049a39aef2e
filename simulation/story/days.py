"""A day of the valley: every person's place and every event, minute by minute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.simulation.story import company, council, tavern
from cogitate.simulation.story.company import Arrival, Journey
from cogitate.simulation.story.council import Session
from cogitate.simulation.story.people import COUNCILLORS, NAMES, PEOPLE, TRAVELLERS
from cogitate.simulation.story.tavern import Evening
from cogitate.simulation.tables import read_table
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.world import Report

#: Each person's observations at work: text and importance.
WORKDAYS = read_table(__package__, "workdays", dict[str, tuple[tuple[str, int], ...]])

WAKES, LUNCH, SUPPER, SLEEPS = 375, 750, 1110, 1335  # minutes of the day
NOTICED = (510, 1000)  # when people observe something at work


@dataclass(frozen=True)
class Day:
    """The complete course of a day."""

    session: Session
    journey: Journey
    evening: Evening
    reports: Mapping[int, tuple[Report, ...]]  # by minute of the day; entries have their full game time
    arrivals: Mapping[int, tuple[Arrival, ...]]

    def whereabouts(self, owner: str, of_day: int) -> tuple[str, str]:
        """Return an agent's place and activity at a minute of the day."""
        profile = PEOPLE[owner]
        if of_day < WAKES or of_day >= SLEEPS:
            return profile.home, "sleeping"
        if of_day < WAKES + 60:
            return profile.home, "having breakfast"
        if tavern.OPENS - 10 <= of_day < tavern.CLOSES and owner in self.evening.guests:
            return "tavern", "sitting in the Grey Heron"
        if owner in TRAVELLERS:
            return self.journey.place(of_day), "travelling with the company"
        if council.OPENS - 5 <= of_day <= council.BALLOT + 10 or council.RESUMES <= of_day <= council.RESULTS + 10:
            return "hall", "attending the council"
        if LUNCH <= of_day < LUNCH + 45:
            return "tavern", "having lunch"
        if of_day < SUPPER:
            return profile.work, f"working as a {profile.occupation}"
        return profile.home, "having supper" if of_day < SUPPER + 45 else "resting at home"


@lru_cache(maxsize=8)
def day_of_story(seed: int, day: int) -> Day:
    """Return a day, a pure function of the arguments."""
    session, journey = council.session(seed, day), company.journey(seed, day)
    evening = tavern.evening(seed, day, session, journey)
    timed = [*session.reports, *journey.reports, *evening.reports, *_noticed(seed, day, journey)]
    if day:
        timed += tavern.reckoning(_promise_of_yesterday(seed, day))
    reports: dict[int, list[Report]] = {}
    for minute, report in timed:
        reports.setdefault(minute, []).append(_dated(report, day))
    arrivals: dict[int, list[Arrival]] = {}
    for arrival in (*journey.arrivals, evening.arrival):
        arrivals.setdefault(arrival.minute, []).append(arrival)
    arrivals.setdefault(council.OPENS - 2, []).append(Arrival(council.OPENS - 2, "hall", (), COUNCILLORS))
    return Day(
        session,
        journey,
        evening,
        {at: tuple(told) for at, told in reports.items()},
        {at: tuple(all_at) for at, all_at in arrivals.items()},
    )


def _promise_of_yesterday(seed: int, day: int) -> tavern.Promise:
    yesterday = day - 1
    return tavern.evening(seed, yesterday, council.session(seed, yesterday), company.journey(seed, yesterday)).promise


def _noticed(seed: int, day: int, journey: Journey) -> list[tuple[int, Report]]:
    """Return each person's observations at work, morning and afternoon; none repeats before all others have
    occurred."""
    observations: list[tuple[int, Report]] = []
    for owner, events in WORKDAYS.items():
        for part, base in enumerate(NOTICED):
            times, number = divmod(2 * day + part, len(events))
            text, importance = Chance(seed, "work", owner, times).shuffled(events)[number]
            minute = base + Chance(seed, "when", owner, day, part).below(40)
            place = journey.place(minute) if owner in TRAVELLERS else PEOPLE[owner].work
            entry = Entry(
                type="observation", text=text, minute=minute, location=place, subjects=(owner,), importance=importance
            )
            observations.append((minute, (owner, entry)))
        if owner not in TRAVELLERS:
            arrived, at = f"Arrived at {NAMES[PEOPLE[owner].work]}.", NOTICED[0] - 40
            seen = Entry(
                type="observation",
                text=arrived,
                minute=at,
                location=PEOPLE[owner].work,
                subjects=(owner,),
                importance=2,
            )
            observations.append((at, (owner, seen)))
    return observations


def _dated(report: Report, day: int) -> Report:
    match report:
        case (str() as owner, Entry() as entry):
            return owner, msgspec.structs.replace(entry, minute=day * DAY + entry.minute)
        case _:
            return report

"""Appointments: who has one, who sets out for it, and how it ends."""

from __future__ import annotations

from cogitate.memory.clock import DAY, clock_time, day_of
from cogitate.memory.language.sentences import all_of
from cogitate.simulation.town.perception import Seen, thought
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import FULL, Meeting, State, warm

APART = 90  # minutes between two appointments of a person, at least
GRACE = 20  # minutes that people wait for each other
PLANS_MADE = 360  # minutes after 00:00; the day's plan does not include appointments made later
MAX_NAMED = 6
PLEASURE = 800  # gain of mood by company, in hundredths of a per cent


def is_taken(state: State, owner: str, minute: int) -> bool:
    """Return whether a person has an appointment around that time."""
    return any(owner in a.people and abs(a.minute - minute) < APART for a in state.appointments.values())


def commitments(state: State, minute: int) -> dict[str, Meeting]:
    """Return the people who set out for an appointment without a plan item: its host, those who agreed after planning
    the day, and those without a plan. Others go only if their plan includes it.
    """
    bound: dict[str, Meeting] = {}
    for appointment in state.appointments.values():
        if appointment.minute - 20 <= minute < appointment.minute + 60:
            for owner, agreed in appointment.people.items():
                hosts = owner == appointment.host
                today = day_of(agreed) == day_of(appointment.minute) and agreed % DAY >= PLANS_MADE
                planless = state.bodies[owner].agenda.valid_until <= minute
                if hosts or ((today or planless) and owner not in bound):
                    bound[owner] = appointment
    return bound


def settle_appointments(setting: Setting, state: State, minute: int) -> list[Seen]:
    """Return the outcome of appointments whose waiting time is over: who came, who was missed."""
    seen: list[Seen] = []
    for appointment in list(state.appointments.values()):
        if appointment.minute + GRACE <= minute:
            seen += _settle(setting, state, appointment, minute)
            if appointment.minute + 60 <= minute:
                del state.appointments[appointment.id]
    return seen


def _settle(setting: Setting, state: State, appointment: Meeting, minute: int) -> list[Seen]:
    if appointment.minute + GRACE != minute:
        return []
    there = [
        o
        for o, b in state.bodies.items()
        if b.place == appointment.place and b.condition != "sleeping" and o not in state.away
    ]
    came = [owner for owner in appointment.people if owner in there]
    missed = [owner for owner in appointment.people if owner not in there and owner not in state.away]
    where = setting.where(appointment.place)
    seen: list[Seen] = []

    def names(owners: list[str]) -> str:
        listed = [setting.name(o) for o in owners[:MAX_NAMED]]
        rest = len(owners) - len(listed)
        return all_of([*listed, f"{rest} more"] if rest else listed)

    if appointment.host:
        if appointment.host in missed:
            for owner in came:
                text = f"{names([appointment.host])}, the host, did not come to {appointment.what} at {where}."
                seen.append(thought(owner, text, minute, 6, appointment.host, place=appointment.place))
            return seen
        for owner in there:
            others = [o for o in there if o != owner]
            company = (
                f"here {'is' if len(others) == 1 else 'are'} {names(others)}" if others else "nobody else has come"
            )
            text = f"{appointment.what.capitalize()} at {where} has begun; {company}."
            seen.append(thought(owner, text, minute, 6, *there[:MAX_NAMED], place=appointment.place))
            state.bodies[owner].mood = min(FULL, state.bodies[owner].mood + PLEASURE)
        for owner in [o for o in missed if o != appointment.host]:
            name = setting.name(owner)
            text = f"{name} had accepted my invitation to {appointment.what} but did not come."
            seen.append(thought(appointment.host, text, minute, 5, owner, place=appointment.place))
            warm(state, appointment.host, owner, -6)
        return seen
    if came and missed:
        for owner in came:
            text = f"Waited for {names(missed)} at {where} at {clock_time(appointment.minute)} as agreed, in vain."
            seen.append(thought(owner, text, minute, 6, *missed, place=appointment.place))
            warm(state, owner, missed[0], -8)
    for owner in came if not missed else []:
        others = [o for o in came if o != owner]
        text = f"Met {names(others)} at {where} to {appointment.what}, as agreed."
        seen.append(thought(owner, text, minute, 5, *others, place=appointment.place))
        warm(state, owner, others[0], 4)
    return seen

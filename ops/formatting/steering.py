"""Formatting of a run's mode, cadence and pace."""

from __future__ import annotations

from cogitate.memory.clock import span
from cogitate.scheduler.inspection.vitals import SteeringVitals

_CAUSES = {"late": "late results", "failed": "failed jobs", "budget": "the budget's pace"}
_BY = {"controller": "left to the controller", "pinned": "pinned by an operator", "settings": "the controller is off"}


def format_mode(steering: SteeringVitals) -> str:
    """Return the mode and the waiting requests of operators; "" for a normally running run."""
    parts = [] if steering.mode in ("running", "drained") else [steering.mode]
    if steering.asked:
        parts.append(f"{steering.asked} request{'' if steering.asked == 1 else 's'} of operators not yet applied")
    return ", ".join(parts)


def format_cadence(steering: SteeringVitals) -> str:
    """Return such as "reflections every 1,440 game minutes, at 1/2 of the usual cadence (late results 40%); …"."""
    every = "no reflections" if steering.interval is None else f"reflections {format_every(steering)}"
    share = "as usual" if steering.cadence == 1 else f"at {steering.cadence:g} of the usual cadence"
    why = f" (pressure: {pressing})" if (pressing := format_pressure(steering)) else ""
    held = f"; {steering.waiting} agents wait to reflect" if steering.waiting else ""
    postponed = f"; {steering.postponed:,} postponed so far" if steering.postponed else ""
    return f"{every}, {share}{why}; {format_by(steering)}{held}{postponed}"


def format_every(steering: SteeringVitals) -> str:
    """Return such as "every 720 game minutes" or "every 3 rounds"; "none" while agents do not reflect."""
    return "none" if steering.interval is None else f"every {span(steering.interval)}"


def format_pressure(steering: SteeringVitals) -> str:
    """Return what slows reflections down, such as "late results 40%"; "" if nothing does."""
    return ", ".join(f"{_CAUSES[cause]} {steering.causes[cause]}%" for cause in steering.pressing)


def format_by(steering: SteeringVitals) -> str:
    """Return what determines the cadence of reflections, such as "left to the controller"."""
    return _BY[steering.by]


def format_pace(steering: SteeringVitals) -> str:
    """Return the host's time per tick, and how far it is behind its pace."""
    behind = f", {steering.lag:,} ticks behind its pace" if steering.lag else ""
    return f"the last tick took the host {steering.host_ms:.1f} ms{behind}"

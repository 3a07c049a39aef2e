"""Formatting of a run's mode, cadence and pace."""

from __future__ import annotations

from scheduler.inspection.steering_vitals import SteeringVitals

_CAUSES = {"late": "late results", "failed": "failed jobs", "budget": "the budget's pace"}
_BY = {"controller": "left to the controller", "pinned": "pinned by an operator", "settings": "the controller is off"}


def format_mode(steering: SteeringVitals) -> str:
    """Return the mode and the waiting requests of operators; "" for a run that goes on as usual."""
    parts = [] if steering.mode in ("running", "drained") else [steering.mode]
    if steering.asked:
        parts.append(f"{steering.asked} request{'' if steering.asked == 1 else 's'} of operators not yet applied")
    return ", ".join(parts)


def format_cadence(steering: SteeringVitals) -> str:
    """Return such as "reflections every 1,440 game minutes, at 1/2 of the usual cadence (late results 40%); …"."""
    every = "no reflections" if steering.interval is None else f"reflections every {steering.interval:,} game minutes"
    share = "as usual" if steering.cadence == 1 else f"at {steering.cadence:g} of the usual cadence"
    pressing = [f"{_CAUSES[cause]} {steering.causes[cause]}%" for cause in steering.pressing]
    why = f" (pressure: {', '.join(pressing)})" if pressing else ""
    held = f"; {steering.waiting} agents wait to reflect" if steering.waiting else ""
    postponed = f"; {steering.postponed:,} postponed so far" if steering.postponed else ""
    return f"{every}, {share}{why}; {_BY[steering.by]}{held}{postponed}"


def format_pace(steering: SteeringVitals) -> str:
    """Return the host's time per tick, and how far it is behind its pace."""
    behind = f", {steering.lag:,} ticks behind its pace" if steering.lag else ""
    return f"the host works {steering.host_ms:.1f} ms a tick{behind}"

"""Meters of a host's brief as prompts show them: with their unit, and with what it means to be at the low end."""

from __future__ import annotations

from collections.abc import Mapping

#: What 0 means, for the meters that the streams design names; a host's own are shown without.
LOWEST = {"energy": "exhausted", "hunger": "starving", "mood": "miserable", "health": "dying", "thirst": "parched"}
MOST = 100


def format_meters(meters: Mapping[str, float]) -> list[str]:
    """Return "hunger 12 of 100, 0 is starving" for each meter; one that is beyond its scale as a bare number."""
    told = []
    for name, value in meters.items():
        text = f"{name} {value:g}"
        if 0 <= value <= MOST:
            text += f" of {MOST}"
            text += f", 0 is {LOWEST[name]}" if name in LOWEST else ""
        told.append(text)
    return told

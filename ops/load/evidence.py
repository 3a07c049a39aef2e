"""The share of agents' experiences that their reflections cite, which throttling reduces."""

from __future__ import annotations

from collections.abc import Iterable

from cogitate.memory.stream import Stream

EXPERIENCED = ("observation", "message")


def evidence_share(streams: Iterable[Stream], since: int) -> float | None:
    """Return the share of experiences since a game minute that reflections cite; None without experiences.

    It measures coverage, not the quality of conclusions.
    """
    experienced = looked_at = 0
    for stream in streams:
        entries = stream.entries.values()
        own = {entry.number for entry in entries if entry.type in EXPERIENCED and entry.minute >= since}
        named = {number for entry in entries if entry.type == "reflection" for number in entry.evidence}
        experienced += len(own)
        looked_at += len(own & named)
    return round(looked_at / experienced, 4) if experienced else None

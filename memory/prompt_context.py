"""Lines for a host's own prompts: what an owner knows, plans and remembers, within a limit of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cogitate.memory.clock import clock_time, day_and_time
from cogitate.memory.entry import Character, Entry, PlanItem, format_character, resolve_name
from cogitate.memory.language.text import normal
from cogitate.memory.language.word_count import count_tokens
from cogitate.memory.summaries.long_term import cut_oldest

SUMMARY_SHARE = 0.25  # share of the room that the long-term summary may take


def context_lines(
    *,
    room: int,
    character: Character,
    summary: str,
    now: PlanItem | None,
    later: PlanItem | None,
    memories: Iterable[Entry],
    names: Mapping[str, str],
) -> str:
    """Return as many lines as fit in `room` tokens, each in full.

    Known facts come first, then the newest part of the summary, the present and the next item of the plan, and the
    memories in order of time.

    Args:
        memories: the most important first. A memory that does not fit is skipped; of equal texts the first is shown.
    """
    lines = [f"Known: {line}" for line in format_character(character).splitlines()]
    if newest := cut_oldest(summary, int(room * SUMMARY_SHARE)):
        lines.append(f"Earlier: {' '.join(newest.split())}")
    items = (("Now", now), ("Next", later))
    lines += [f"{when}: {_planned(item, names)}" for when, item in items if item is not None]
    kept = []
    for line in lines:
        if (size := count_tokens(line)) <= room:
            room -= size
            kept.append(line)
    shown: dict[str, Entry] = {}
    for entry in memories:
        text = normal(entry.text)
        if text not in shown and (size := count_tokens(_line(entry))) <= room:
            room -= size
            shown[text] = entry
    return "\n".join([*kept, *map(_line, sorted(shown.values(), key=lambda e: (e.minute, e.number)))])


def _line(entry: Entry) -> str:
    return f"- {day_and_time(entry.minute, entry.tick)}: {' '.join(entry.text.split())}"


def _planned(item: PlanItem, names: Mapping[str, str]) -> str:
    at = f"{clock_time(item.minute)} " if item.minute is not None else ""
    place = f" ({resolve_name(item.location, names)})" if item.location else ""
    return f"{at}{' '.join(item.description.split())}{place}"

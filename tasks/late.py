"""What an answer that came after its job's end still changes: the same that a repair of the entries would."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from memory.effects import Append, Effect, MarkAccessed, Tell
from memory.entry import Entry, PlanItem
from tasks.job import JobKey


def as_repair(
    key: JobKey, effects: Iterable[Effect], made: Iterable[tuple[str, Entry]], *, told: bool, minute: int
) -> tuple[Effect, ...]:
    """The effects of an answer, for which the job's heuristic has stood in; none where it replaces nothing.

    Each entry takes the place of the first of its type that the heuristic made for its owner; others are left out, and
    so are plans that are over. Cursors, counters, archives and the like are the heuristic's already. Access marks stay,
    and so does what the world is told, unless the heuristic has told it something.

    Args:
        key: of the job.
        made: owners and entries that the heuristic appended.
        told: whether the heuristic has told the world something.
        minute: game time of the boundary, total minutes.
    """
    left = list(made)
    kept: list[Effect] = []
    for effect in effects:
        match effect:
            case Append(owner=owner, entry=entry) if entry.type != "plan" or entry.valid_until > minute:
                stands = next((one for one in left if (one[0], one[1].type) == (owner, entry.type)), None)
                if stands is not None:
                    left.remove(stands)
                    entry = msgspec.structs.replace(entry, items=_coming(key, entry.items, minute))
                    kept.append(Append(owner=owner, entry=entry, replaces=stands[1].number))
            case Tell() if told:
                pass
            case MarkAccessed() | Tell():
                kept.append(effect)
    return tuple(kept) if any(isinstance(effect, Append) for effect in kept) else ()


def _coming(key: JobKey, items: Sequence[PlanItem], minute: int) -> tuple[PlanItem, ...]:
    """The items of a plan from the present one on, under ids that the plan before them has not."""
    begun = [index for index, item in enumerate(items) if item.minute is not None and item.minute <= minute]
    return tuple(
        msgspec.structs.replace(item, id=f"{key.tick}-late-{index}")
        for index, item in enumerate(items[begun[-1] if begun else 0 :])
    )

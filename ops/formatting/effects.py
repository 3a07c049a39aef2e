"""Formatting of effects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from cogitate.memory.effects import (
    AdvanceCursor,
    Append,
    Archive,
    Effect,
    ForgetWaiting,
    MarkAccessed,
    Rate,
    ReplaceSummary,
    SetCharacter,
    SetCounter,
    SetPlanStatus,
    TakeWaiting,
    Tell,
)


def format_effects(effects: Sequence[Effect], appended: Sequence[int], *, texts: bool = True) -> Iterator[str]:
    """Yield a line for each effect, in the order in which they are applied.

    Args:
        appended: the numbers of the appended entries; empty if no effect was applied.
        texts: whether to show the texts of memories and of messages to the world.
    """
    numbers = iter(appended)
    for effect in effects:
        match effect:
            case Append(entry=entry, replaces=replaces):
                number = next(numbers, None)
                named = f" as entry {number}" if number is not None else ""
                kept = ", provisional" if entry.provisional else ""
                instead = f", in place of entry {replaces}" if replaces else ""
                said = f": {entry.text}" if texts else ""
                article = "an" if entry.type == "observation" else "a"
                text = f"append {article} {entry.type}{named}{kept}{instead}{said}"
                if entry.items:
                    text += f" ({len(entry.items)} items)"
            case Archive():
                into = " into the entry just appended" if effect.into_appended else ""
                into = " into the long-term summary" if effect.into_summary else into
                text = f"archive {_entries(effect.numbers)}{into}"
            case ReplaceSummary():
                said = f": {effect.text}" if texts else ""
                text = f"replace version {effect.version} of the long-term summary{said}"
            case TakeWaiting():
                text = f"append the oldest {effect.count} waiting observations"
            case ForgetWaiting():
                text = f"forget {effect.count} waiting observations"
            case SetCharacter():
                text = "replace the description of the character"
            case SetPlanStatus():
                text = f"plan item {effect.item}: {effect.expects} becomes {effect.status}"
            case AdvanceCursor():
                text = f"move the cursor {effect.name} from {effect.start} to {effect.end}"
            case SetCounter():
                text = f"set the counter {effect.name} to {effect.value}"
            case MarkAccessed():
                text = f"mark {_entries(effect.numbers)} as read"
            case Rate():
                pairs = zip(effect.numbers, effect.ratings, strict=False)
                text = "rate " + ", ".join(f"entry {number} as {rating}" for number, rating in pairs)
            case Tell():
                said = f": {json.dumps(effect.data, ensure_ascii=False)}" if texts else ""
                text = f"tell the world of {effect.topic}{said}"
        yield f"{effect.owner}: {text}"


def _entries(numbers: Sequence[int]) -> str:
    return f"entr{'y' if len(numbers) == 1 else 'ies'} {', '.join(map(str, numbers)) or 'none'}"

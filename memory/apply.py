"""The application of a job's effects: all of them when every precondition holds, otherwise none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

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
from cogitate.memory.entry import INTO_SUMMARY, UNRATED, Entry, Marks
from cogitate.memory.stream import Stream


def unmet(streams: Mapping[str, Stream], effects: Sequence[Effect]) -> str | None:
    """Return a description of the first precondition that fails, or None if all hold.

    Checks each effect against the streams as the preceding effects leave them.
    """
    appending: set[str] = set()
    archiving: set[tuple[str, int]] = set()
    replaced: Counter[str] = Counter()  # summaries
    statuses: dict[tuple[str, str], str] = {}
    taken: Counter[str] = Counter()  # waiting entries that preceding effects append: these can be archived
    gone: Counter[str] = Counter()  # waiting entries that preceding effects take or drop
    cursors: dict[tuple[str, str], int] = {}
    for effect in effects:
        stream = streams.get(effect.owner)
        if stream is None:
            return f"owner {effect.owner!r} has left"
        match effect:
            case Append(replaces=number) if number:
                if not stream.is_live(number) or (effect.owner, number) in archiving:
                    return f"entry {number} to be replaced is not live"
                if not stream.entries[number].provisional:
                    return f"entry {number} to be replaced is not provisional"
                archiving.add((effect.owner, number))
                appending.add(effect.owner)
            case Append():
                appending.add(effect.owner)
            case Archive():
                if effect.into_appended and effect.owner not in appending:
                    return "no entry was appended that could replace the archived ones"
                for number in effect.numbers:
                    fresh = 0 < number - stream.head.last_number <= taken[effect.owner]
                    if not (fresh or stream.is_live(number)) or (effect.owner, number) in archiving:
                        return f"entry {number} is not live"
                    archiving.add((effect.owner, number))
            case ReplaceSummary():
                version = stream.head.summary_version + replaced[effect.owner]
                if version != effect.version:
                    return f"summary is at version {version}, not {effect.version}"
                replaced[effect.owner] += 1
            case TakeWaiting() | ForgetWaiting():
                start = effect.start if isinstance(effect, ForgetWaiting) else 0
                left = len(stream.head.waiting) - gone[effect.owner]
                if effect.count < 0 or start < 0 or start + effect.count > left:
                    return f"{left} entries wait, not {start + effect.count}"
                gone[effect.owner] += effect.count
                if isinstance(effect, TakeWaiting):
                    taken[effect.owner] += effect.count
            case SetPlanStatus():
                current = statuses.get((effect.owner, effect.item)) or _plan_status(stream, effect.item)
                if current not in (effect.expects, effect.status):
                    return f"plan item {effect.item} is {current or 'gone'}, not {effect.expects}"
                statuses[effect.owner, effect.item] = effect.status
            case Rate() if len(effect.ratings) != len(effect.numbers) or not all(1 <= r <= 10 for r in effect.ratings):
                return f"{len(effect.numbers)} entries cannot be rated {effect.ratings}"
            case AdvanceCursor():
                at = cursors.get((effect.owner, effect.name), stream.head.cursors.get(effect.name, 0))
                if at != effect.start or effect.end < effect.start:
                    return f"cursor {effect.name} is at {at}, not {effect.start}"
                cursors[effect.owner, effect.name] = effect.end
            case _:
                pass
    return None


def _plan_status(stream: Stream, item_id: str) -> str | None:
    for plan in reversed(stream.live("plan")):
        for item in plan.items:
            if item.id == item_id:
                return stream.head.plan_status.get(item_id, item.status)
    return None


def apply(streams: Mapping[str, Stream], effects: Sequence[Effect], tick: int) -> list[Entry]:
    """Apply effects and return the entries that their `Append` effects append, in order.

    Call `unmet` first: this function checks no precondition.
    """
    appended: list[Entry] = []
    for effect in effects:
        stream = streams[effect.owner]
        match effect:
            case Append():
                entry = stream.append(effect.entry, tick)
                appended.append(entry)
                if effect.replaces:
                    stream.archive(effect.replaces, tick, entry.number)
            case Archive():
                into = 0
                if effect.into_appended:
                    into = stream.head.last_number
                elif effect.into_summary:
                    into = INTO_SUMMARY
                for number in effect.numbers:
                    stream.archive(number, tick, into)
            case ReplaceSummary():
                stream.head.summary = effect.text
                stream.head.summary_version += 1
                stream.note_head()
            case TakeWaiting():
                stream.take_waiting(effect.count, tick)
            case ForgetWaiting():
                stream.forget_waiting(effect.start, effect.count)
            case SetCharacter():
                stream.head.character = effect.character
                stream.note_head()
            case SetPlanStatus():
                stream.set_plan_status(effect.item, effect.status)
            case AdvanceCursor():
                stream.head.cursors[effect.name] = effect.end
                stream.note_head()
            case SetCounter():
                stream.set_counter(effect.name, effect.value)
            case MarkAccessed():
                for number in effect.numbers:
                    if number in stream.entries:
                        marks = stream.marks.get(number, Marks())
                        stream.mark(
                            number,
                            msgspec.structs.replace(marks, accesses=marks.accesses + 1, last_accessed=effect.minute),
                        )
            case Rate():
                for number, rating in zip(effect.numbers, effect.ratings, strict=True):
                    if number in stream.entries and stream.entries[number].importance == UNRATED:
                        stream.rate(number, rating, tick)
            case Tell():
                pass
    return appended

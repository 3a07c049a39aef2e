"""FIFO cells: an owner holds K memories word for word; the oldest goes into its long-term summary.

Spec 1 asks a model for the summary within the tick. Here that is a job. Until it is applied, memory K+1 and what comes
after it wait, in order, in the head of the stream; applied, as many cells are archived as memories are let in. At most
2 × K memories wait: K for the job that is open, K for those that arrive meanwhile. What would come on top of that does
not wait for a model: under `on_failure="heuristic"` the boundary itself tells the oldest in the summary, under
"unchanged" the newest are forgotten, with a warning.

Reflections and plans are no cells: their own limits hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory.effects import Archive, Effect, ForgetWaiting, ReplaceSummary, TakeWaiting
from memory.entry import OBSERVED_TYPES, Entry
from memory.limits import MemoryLimits
from memory.stream import Stream
from memory.summaries.long_term import cut_oldest, fold, format_entries

SUMMARY_TOKENS = 250  # of a summary that is made without a model


def cells(stream: Stream) -> list[Entry]:
    """The cells, newest first."""
    return stream.live(*OBSERVED_TYPES)[::-1]


def has_space(stream: Stream, limits: MemoryLimits) -> bool:
    """Whether a memory can become a cell at once: fewer than K are taken, and none waits before it."""
    return stream.observed() < limits.cells and not stream.head.waiting


def receive(stream: Stream, entry: Entry, limits: MemoryLimits, tick: int) -> bool:
    """Append an observed entry, or queue it in the head while the policy `cells` has no free cell for it.

    Returns:
        Whether the entry was appended.
    """
    policy = limits.policy_of(stream.owner)
    if policy == "cells" and entry.type in OBSERVED_TYPES and not has_space(stream, limits):
        stream.wait(entry)
        return False
    stream.append(entry, tick)
    return True


def most_waiting(limits: MemoryLimits) -> int:
    """How many memories may wait."""
    return 2 * limits.cells


def surplus_cells(stream: Stream, limits: MemoryLimits) -> list[Entry]:
    """The cells that must go into the summary for those that wait, oldest first: one for each, at most K."""
    wanted = min(len(stream.head.waiting), limits.cells)
    return cells(stream)[::-1][:wanted]


def enforce(stream: Stream, limits: MemoryLimits, names: Mapping[str, str]) -> tuple[Effect, ...]:
    """What the boundary itself does so that at most K cells are taken and at most 2 × K memories wait.

    Memories that wait are let in where cells have become free by other ways than a summary.
    """
    waiting, taken = len(stream.head.waiting), stream.observed()
    free = min(waiting, max(0, limits.cells - taken))
    over = waiting - free - most_waiting(limits)
    if taken > limits.cells or (over > 0 and limits.on_failure == "heuristic"):
        return _let_in(stream, limits, names, waiting)
    effects: list[Effect] = [TakeWaiting(stream.owner, free)] if free else []
    if over > 0:
        effects.append(ForgetWaiting(stream.owner, over, start=most_waiting(limits)))
    return tuple(effects)


def update_summary(summary: str, gone: Sequence[Entry], names: Mapping[str, str]) -> str:
    """The summary with the cells that are gone told in it, without a model."""
    text = fold(summary, gone, names, SUMMARY_TOKENS)
    return text or cut_oldest(f"{summary} {format_entries(gone, names)}".strip(), SUMMARY_TOKENS)


def _let_in(stream: Stream, limits: MemoryLimits, names: Mapping[str, str], count: int) -> tuple[Effect, ...]:
    """Append the oldest `count` that wait and tell as many of the oldest in the summary, without a model."""
    head, owner = stream.head, stream.owner
    arriving = [(head.last_number + at, entry) for at, entry in enumerate(head.waiting[:count], start=1)]
    all_cells = [(entry.number, entry) for entry in reversed(cells(stream))] + arriving
    surplus = all_cells[: len(all_cells) - limits.cells]
    text = update_summary(head.summary, [entry for _, entry in surplus], names)
    effects: list[Effect] = [TakeWaiting(owner, count)] if count else []
    effects.append(Archive(owner=owner, numbers=tuple(number for number, _ in surplus), into_summary=True))
    effects.append(ReplaceSummary(owner=owner, text=text, version=head.summary_version))
    return tuple(effects)

"""FIFO cells: an owner holds K memories unchanged; the oldest goes into its long-term summary.

The cells design calls a model for the summary within the tick. Here that call is a job. Until the boundary applies it,
memory K+1 and later ones wait, in order, in the head of the stream; then the boundary archives as many cells as it
appends memories. At most 2 × K memories wait: K for the open job, K for those that arrive in the meantime. Beyond that,
memories do not wait for a model: with `on_failure="heuristic"` the boundary itself writes the oldest into the summary,
with "unchanged" it drops the newest and warns.

Reflections and plans are not cells; separate limits bound them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cogitate.memory.effects import Archive, Effect, ForgetWaiting, ReplaceSummary, TakeWaiting
from cogitate.memory.entry import OBSERVED_TYPES, Entry
from cogitate.memory.language.languages import UNDETERMINED
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import fold_or_cut

SUMMARY_TOKENS = 250  # size of a summary that is written without a model


def cells(stream: Stream) -> list[Entry]:
    """Return the cells, newest first."""
    return stream.live(*OBSERVED_TYPES)[::-1]


def has_space(stream: Stream, limits: MemoryLimits) -> bool:
    """Return whether a memory can become a cell at once: fewer than K cells are taken, and no other memory waits."""
    return stream.observed() < limits.cells and not stream.head.waiting


def receive(stream: Stream, entry: Entry, limits: MemoryLimits, tick: int) -> bool:
    """Append an observed entry; under the policy "cells", queue it in the head if no cell is free.

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
    """Return the number of memories that may wait."""
    return 2 * limits.cells


def surplus_cells(stream: Stream, limits: MemoryLimits) -> list[Entry]:
    """Return the cells that must make room for waiting memories, oldest first: one for each, at most K."""
    needed = min(len(stream.head.waiting), limits.cells)
    return cells(stream)[::-1][:needed]


def enforce(
    stream: Stream,
    limits: MemoryLimits,
    names: Mapping[str, str],
    language_of_owner: Callable[[], str] = lambda: UNDETERMINED,
) -> tuple[Effect, ...]:
    """Return the effects by which the boundary keeps at most K cells taken and at most 2 × K memories waiting.

    They append waiting memories to cells that became free without a summary.
    """
    waiting, taken = len(stream.head.waiting), stream.observed()
    free = min(waiting, max(0, limits.cells - taken))
    over = waiting - free - most_waiting(limits)
    if taken > limits.cells or (over > 0 and limits.on_failure == "heuristic"):
        return _admit_waiting(stream, limits, names, language_of_owner())
    effects: list[Effect] = [TakeWaiting(stream.owner, free)] if free else []
    if over > 0:
        effects.append(ForgetWaiting(stream.owner, over, start=most_waiting(limits)))
    return tuple(effects)


def update_summary(
    summary: str, gone: Sequence[Entry], names: Mapping[str, str], now: int = 0, language: str = UNDETERMINED
) -> tuple[str, int]:
    """Return the summary extended by the archived cells, without a model, and the number of tokens cut."""
    return fold_or_cut(summary, gone, names, SUMMARY_TOKENS, now=now, language=language)


def _admit_waiting(stream: Stream, limits: MemoryLimits, names: Mapping[str, str], language: str) -> tuple[Effect, ...]:
    """Return effects that append all waiting memories and write surplus cells into the summary."""
    head, owner, count = stream.head, stream.owner, len(stream.head.waiting)
    arriving = [(head.last_number + at, entry) for at, entry in enumerate(head.waiting, start=1)]
    all_cells = [(entry.number, entry) for entry in reversed(cells(stream))] + arriving
    surplus = all_cells[: len(all_cells) - limits.cells]
    text, cut = update_summary(head.summary, [entry for _, entry in surplus], names, language=language)
    effects: list[Effect] = [TakeWaiting(owner, count)] if count else []
    effects.append(Archive(owner=owner, numbers=tuple(number for number, _ in surplus), into_summary=True))
    effects.append(ReplaceSummary(owner=owner, text=text, version=head.summary_version, cut=cut))
    return tuple(effects)

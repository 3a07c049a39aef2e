"""The token window: long-term summary + buffer + character stay within an owner's token limit.

    buffer ≥ 80% of the limit ──► all but the newest 3 entries are archived into the summary, which tells them (pass 1)
    total ≥ 80%               ──► the same if these entries are long enough, else the summary is compressed    (pass 2)
    total > limit             ──► the boundary: both, without a model; then the summary's oldest part is cut, with a
                                  warning; then fewer than 3 entries are kept; last, the character is cut down

The first two are jobs for a model (`cogitate.tasks.long_term`). The boundary enforces the third for any limit and any
answer of a model. The 80% leave room for entries that arrive while the model writes. The window design measures the
buffer alone; with a long summary the total would then reach the limit before the buffer reaches 80% of it, and the
boundary would always act first. Each owner is handled separately.

The buffer holds observations, messages and summaries; separate limits bound reflections and plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cogitate.memory.effects import Archive, Effect, ReplaceSummary, SetCharacter
from cogitate.memory.entry import OBSERVED_TYPES, Character, Entry, format_character
from cogitate.memory.language.languages import UNDETERMINED
from cogitate.memory.language.word_count import count_words
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import (
    cut_oldest,
    estimate_tokens,
    fold_or_cut,
    tokens_of_words,
)

PASSES = "compression_passes"  # counter of the head: compressions since the buffer was last full
MOST_SUMMARY = 600  # tokens that fit into a prompt when the summary is compressed again
_WORTHWHILE = 0.1  # least share of the limit at which entries are compressed because of the total
_LEAST_SUMMARY = 0.1  # share of the limit that a summary gets even when the kept entries take all of the target


def buffer(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries of the buffer among live entries, in order of number."""
    return [entry for entry in entries if entry.type in OBSERVED_TYPES]


def buffer_tokens(entries: Iterable[Entry]) -> int:
    """Return the size of the buffer in tokens."""
    return tokens_of_words(sum(count_words(entry.text) for entry in buffer(entries)))


def total_tokens(stream: Stream) -> int:
    """Return the size of an owner's context in tokens: long-term summary, buffer and character."""
    head = stream.head
    return _total(head.summary, stream.live(), head.character)


def _total(summary: str, entries: Iterable[Entry], character: Character) -> int:
    return estimate_tokens(summary) + buffer_tokens(entries) + estimate_tokens(format_character(character))


def is_over_limit(stream: Stream, limits: MemoryLimits) -> bool:
    """Return whether the total is above the limit."""
    return total_tokens(stream) > limits.token_limit


def compression_threshold(limits: MemoryLimits) -> int:
    """Return the number of tokens at which compression begins."""
    return int(limits.token_limit * limits.compress_at)


def is_near_limit(stream: Stream, limits: MemoryLimits) -> bool:
    """Return whether the buffer has reached the share of the limit at which it is compressed."""
    return buffer_tokens(stream.live()) >= compression_threshold(limits)


def to_compress(stream: Stream, limits: MemoryLimits) -> list[Entry]:
    """Return the entries that are due to go into the summary; none while there is room."""
    entries = compressible(stream.live(), limits)
    if is_near_limit(stream, limits):
        return entries
    worthwhile = buffer_tokens(entries) >= limits.token_limit * _WORTHWHILE
    return entries if worthwhile and total_tokens(stream) >= compression_threshold(limits) else []


def compressible(entries: Iterable[Entry], limits: MemoryLimits) -> list[Entry]:
    """Return the part of the buffer that may be compressed: all but the newest `retain` entries."""
    buffered = buffer(entries)
    return buffered[: max(0, len(buffered) - limits.retain)]


def summary_room(kept: Iterable[Entry], character: Character, limits: MemoryLimits) -> int:
    """Return the tokens that a summary may take beside the kept entries if the total is to meet its target."""
    beside = _total("", kept, character)
    aim = max(int(limits.token_limit * limits.compress_to) - beside, int(limits.token_limit * _LEAST_SUMMARY))
    return max(0, min(aim, limits.token_limit - beside, MOST_SUMMARY))


def compress_summary(
    summary: str,
    leaving: Sequence[Entry],
    names: Mapping[str, str],
    room: int,
    *,
    now: int,
    passes: int = 2,
    language: str = UNDETERMINED,
) -> tuple[str, int]:
    """Return a summary of at most `room` tokens, written without a model, and the number of tokens cut off it.

    It covers the entries that leave the buffer (the first pass). If none leave, it compresses the summary itself (the
    second pass, if `passes` allows it). If not one sentence fits, it cuts the oldest part.
    """
    if not leaving and passes < 2:
        return summary, 0
    return fold_or_cut(summary, leaving, names, room, now=now, language=language)


def enforce(
    stream: Stream,
    limits: MemoryLimits,
    names: Mapping[str, str],
    language_of_owner: Callable[[], str] = lambda: UNDETERMINED,
) -> tuple[Effect, ...]:
    """Return the effects by which the boundary brings the total within the limit; none if it is."""
    if not is_over_limit(stream, limits):
        return ()
    head, owner, effects = stream.head, stream.owner, list[Effect]()
    character = fitting_character(head.character, limits.token_limit)
    if character != head.character:
        left_out = estimate_tokens(format_character(head.character)) - estimate_tokens(format_character(character))
        effects.append(SetCharacter(owner, character, cut=left_out))
    live = buffer(stream.live())
    kept = live[len(live) - _retained(live, character, limits) :]
    leaving = live[: len(live) - len(kept)]
    text, cut = compress_summary(
        head.summary,
        leaving,
        names,
        summary_room(kept, character, limits),
        passes=limits.passes,
        language=language_of_owner(),
        now=live[-1].minute if live else 0,
    )
    most = max(0, limits.token_limit - _total("", kept, character))
    if estimate_tokens(text) > most:
        shorter = cut_oldest(text, most)
        text, cut = shorter, cut + estimate_tokens(text) - estimate_tokens(shorter)
    if leaving:
        effects.append(Archive(owner=owner, numbers=tuple(e.number for e in leaving), into_summary=True))
    if leaving or text != head.summary:
        effects.append(ReplaceSummary(owner=owner, text=text, version=head.summary_version, cut=cut))
    return tuple(effects)


def _retained(live: Sequence[Entry], character: Character, limits: MemoryLimits) -> int:
    """Return the number of newest entries to keep: `retain`, or fewer if these would leave no room for a summary."""
    most = limits.token_limit - int(limits.token_limit * _LEAST_SUMMARY)
    for count in range(min(limits.retain, len(live)), 0, -1):
        if _total("", live[len(live) - count :], character) <= most:
            return count
    return 0


def fitting_character(character: Character, room: int) -> Character:
    """Return the character in at most `room` tokens: objectives first, then relationships, names, inventory."""
    if estimate_tokens(format_character(character)) <= room:
        return character
    parts = ("objectives", "relationships", "names", "inventory")
    items = [(part, value) for part in parts for value in _values(character, part)]
    low, high = 0, len(items)
    while low < high:
        middle = (low + high + 1) // 2
        fits = estimate_tokens(format_character(_character_of(items[:middle]))) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return _character_of(items[:low])


def _values(character: Character, part: str) -> list[Any]:
    values = getattr(character, part)
    return sorted(values.items()) if isinstance(values, dict) else list(values)


def _character_of(items: Sequence[tuple[str, Any]]) -> Character:
    """Return the character of these pairs of field and value."""
    values: dict[str, list[Any]] = {}
    for part, value in items:
        values.setdefault(part, []).append(value)
    bonds = dict(values.pop("relationships", ()))
    return Character(relationships=bonds, **{part: tuple(items) for part, items in values.items()})

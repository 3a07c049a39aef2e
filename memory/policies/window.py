"""The token window: long-term summary + buffer + character stay within an owner's token limit.

    buffer ≥ 80% of the limit ──► all but the newest 3 entries are told in the summary, and archived into it   (pass 1)
    total ≥ 80%               ──► the same where these entries are worth it, else the summary is compressed    (pass 2)
    total > limit             ──► the boundary: both, without a model; then the summary's oldest part is cut, with a
                                  warning; then fewer than 3 entries are kept; last, the character is cut down

The first two are jobs of a model (`tasks.long_term`). The last holds after every boundary, however low the limit and
whatever a model answered. The 80% leave room for what arrives while the model writes. Spec 4 looks at the buffer alone;
once the summary has grown, the total would then be at the limit before the buffer is at 80% of it, and the boundary
would always be first. Each owner is on its own.

The buffer is what was observed, heard or summarised; reflections and plans have limits of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memory.effects import Archive, Effect, ReplaceSummary, SetCharacter
from memory.entry import OBSERVED_TYPES, Character, Entry
from memory.limits import MemoryLimits
from memory.stream import Stream
from memory.summaries.long_term import (
    count_words,
    cut_oldest,
    estimate_tokens,
    fold,
    format_entries,
    tokens_of_words,
)

PASSES = "compression_passes"  # counter of the head: how often was compressed since the buffer was last full
MOST_SUMMARY = 600  # tokens: what a model can be shown, and told to compress again
_WORTHWHILE = 0.1  # share of the limit that entries must have to be compressed because of the total
_LEAST_SUMMARY = 0.1  # share of the limit that a summary gets even where the entries kept take all that is aimed at


def buffer(entries: Iterable[Entry]) -> list[Entry]:
    """Of live entries those that make up the buffer, in order of number."""
    return [entry for entry in entries if entry.type in OBSERVED_TYPES]


def buffer_tokens(entries: Iterable[Entry]) -> int:
    """Tokens of the buffer."""
    return tokens_of_words(sum(count_words(entry.text) for entry in buffer(entries)))


def format_character(character: Character) -> str:
    """What is known of an owner, in words; empty where nothing is."""
    bonds = [f"{name} ({words})" for name, words in sorted(character.relationships.items())]
    parts = (
        ("Objectives", character.objectives), ("Relationships", bonds),
        ("Names", character.names), ("Inventory", character.inventory),
    )  # fmt: skip
    return "\n".join(f"{title}: {', '.join(values)}" for title, values in parts if values)


def total_tokens(stream: Stream) -> int:
    """Tokens of an owner's whole context: long-term summary, buffer and character."""
    head = stream.head
    return _total(head.summary, stream.live(), head.character)


def _total(summary: str, entries: Iterable[Entry], character: Character) -> int:
    return estimate_tokens(summary) + buffer_tokens(entries) + estimate_tokens(format_character(character))


def is_over_limit(stream: Stream, limits: MemoryLimits) -> bool:
    """Whether the total is above the limit."""
    return total_tokens(stream) > limits.token_limit


def compression_threshold(limits: MemoryLimits) -> int:
    """The tokens at which compression begins."""
    return int(limits.token_limit * limits.compress_at)


def is_near_limit(stream: Stream, limits: MemoryLimits) -> bool:
    """Whether the buffer has come to the share of the limit at which it is compressed."""
    return buffer_tokens(stream.live()) >= compression_threshold(limits)


def to_compress(stream: Stream, limits: MemoryLimits) -> list[Entry]:
    """The entries that are due to be told in the summary; none while there is room."""
    found = compressible(stream.live(), limits)
    if is_near_limit(stream, limits):
        return found
    worthwhile = buffer_tokens(found) >= limits.token_limit * _WORTHWHILE
    return found if worthwhile and total_tokens(stream) >= compression_threshold(limits) else []


def compressible(entries: Iterable[Entry], limits: MemoryLimits) -> list[Entry]:
    """The part of the buffer that may be compressed: all but the newest `retain` entries."""
    found = buffer(entries)
    return found[: max(0, len(found) - limits.retain)]


def summary_room(kept: Iterable[Entry], character: Character, limits: MemoryLimits) -> int:
    """Tokens that a summary may take beside the entries that are kept, so that the total is what is aimed at."""
    beside = _total("", kept, character)
    aim = max(int(limits.token_limit * limits.compress_to) - beside, int(limits.token_limit * _LEAST_SUMMARY))
    return max(0, min(aim, limits.token_limit - beside, MOST_SUMMARY))


def compress_summary(
    summary: str, leaving: Sequence[Entry], names: Mapping[str, str], room: int, *, passes: int = 2
) -> tuple[str, int]:
    """A summary in `room` tokens, without a model, and how many tokens had to be cut off it.

    Entries that leave the buffer are told in it (the first pass); where none leave, the summary itself is compressed
    (the second, if so many are allowed). Where not one sentence fits, the oldest part is cut.
    """
    if not leaving and passes < 2:
        return summary, 0
    text = fold(summary, leaving, names, room)
    if text:
        return text, 0
    whole = f"{summary} {format_entries(leaving, names)}".strip()
    text = cut_oldest(whole, room)
    return text, estimate_tokens(whole) - estimate_tokens(text)


def enforce(stream: Stream, limits: MemoryLimits, names: Mapping[str, str]) -> tuple[Effect, ...]:
    """What the boundary itself does so that the total is within the limit; nothing where it is."""
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
        head.summary, leaving, names, summary_room(kept, character, limits), passes=limits.passes
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
    """How many of the newest entries can be kept: `retain`, or fewer where these leave a summary no room."""
    most = limits.token_limit - int(limits.token_limit * _LEAST_SUMMARY)
    for count in range(min(limits.retain, len(live)), 0, -1):
        if _total("", live[len(live) - count :], character) <= most:
            return count
    return 0


def fitting_character(character: Character, room: int) -> Character:
    """The character in at most `room` tokens: objectives first, then relationships, names, inventory."""
    if estimate_tokens(format_character(character)) <= room:
        return character
    parts = ("objectives", "relationships", "names", "inventory")
    items = [(part, value) for part in parts for value in _values(character, part)]
    low, high = 0, len(items)
    while low < high:
        middle = (low + high + 1) // 2
        fits = estimate_tokens(format_character(_of(items[:middle]))) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return _of(items[:low])


def _values(character: Character, part: str) -> list[Any]:
    values = getattr(character, part)
    return sorted(values.items()) if isinstance(values, dict) else list(values)


def _of(items: Sequence[tuple[str, Any]]) -> Character:
    """The character that these (field, value) make up."""
    values: dict[str, list[Any]] = {}
    for part, value in items:
        values.setdefault(part, []).append(value)
    bonds = dict(values.pop("relationships", ()))
    return Character(relationships=bonds, **{part: tuple(found) for part, found in values.items()})

"""Limits the entries that a job archives, or passes with its cursor, to those that its prompt showed, oldest first.

A kind offers its material in order (`oldest_first`), and `showing` builds the prompt: only the pieces in the rendered
text count as shown, whatever a template leaves out, and the answer applies only their effects (`Prompt.then`). The
rest waits for the next job. A heuristic reads all of its material, and passes all of it.

A memory that is longer than a prompt is shown in parts. Two counters of the owner's head, "<kind>.part" and
"<kind>.upto", keep the progress, and the next request carries it as "begun". Characters are counted from the end,
since the name before a message ("Ada: …") may be present in one prompt and absent in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel

from cogitate.memory.effects import AdvanceCursor, Append, Archive, Effect, ReplaceSummary, SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.errors import CogitateError
from cogitate.memory.language.sentences import SPACED, UNSPACED
from cogitate.memory.language.truncation import last_between_words
from cogitate.memory.language.word_count import count_words
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.long_term import SummarySize
from cogitate.prompts.render import Rendered, TemplateError, neutral
from cogitate.tasks.job import Job
from cogitate.tasks.kind import Case, Kind, Prompt

MOST = 20_000  # characters offered to a prompt; a 64th of them, the smallest step of its share, is short
LEAST = 200  # the fewest characters of a memory to show
ELLIPSIS = "…"
#: Preferred ends of a part of a memory.
_SENTENCE_ENDS = (*(f"{mark} " for mark in SPACED), *UNSPACED)


class Begun(NamedTuple):
    """The progress of earlier jobs in a memory that they showed in part."""

    number: int = 0
    upto: int = 0  # characters


NOT_BEGUN = Begun()


class Piece(NamedTuple):
    """The part of a memory that a prompt shows: all the rest of it, or the next part."""

    entry: Entry
    text: str  # as the template receives it
    upto: int = 0  # characters of the memory read so far; 0: to its end

    @property
    def whole(self) -> bool:
        """Return whether the memory is shown to its end."""
        return not self.upto


def oldest_first(material: Sequence[tuple[Entry, str]], share: float, begun: Begun = NOT_BEGUN) -> list[Piece]:
    """Return the pieces that a prompt shows if only a share of the text fits: whole memories, or a part of the oldest.

    Args:
        material: memories with their texts, oldest first.
        share: the share of the characters; 1 shows everything, up to `MOST` characters.
        begun: the progress in the oldest memory.
    """
    rest = [(entry, text, _begun_at(entry, text, begun)) for entry, text in material]
    room = _room(sum(len(text) - at for _, text, at in rest), share)
    pieces: list[Piece] = []
    for entry, text, at in rest:
        size = len(text) - at
        if size > room and (pieces or size > LEAST):
            break
        pieces.append(Piece(entry, _shown(text[at:], at, ends=True)))
        room -= size
    if not pieces and rest:
        entry, text, at = rest[0]
        end = _end_of_part(text, at, max(LEAST, room))
        read = max(1, end + len(entry.text) - len(text))
        pieces.append(Piece(entry, _shown(text[at:end], at, ends=False), read))
    return pieces


def _begun_at(entry: Entry, text: str, begun: Begun) -> int:
    """Return the position in a text where the part begins that was not shown yet."""
    return max(0, begun.upto + len(text) - len(entry.text)) if entry.number == begun.number else 0


def everything(entries: Iterable[Entry]) -> list[Piece]:
    """Return the pieces for a heuristic: every memory to its end."""
    return [Piece(entry, entry.text) for entry in entries]


def _room(size: int, share: float) -> int:
    return min(size, MOST) if share >= 1 else int(share * min(size, MOST))


def _shown(text: str, at: int, *, ends: bool) -> str:
    return (ELLIPSIS if at else "") + text.strip() + ("" if ends else ELLIPSIS)


def _end_of_part(text: str, start: int, room: int) -> int:
    """Return the position where a part ends: after a sentence that ends in its second half, else between words."""
    end, half = start + room, start + room // 2
    sentence = max(text.rfind(mark, half, end) + len(mark) for mark in _SENTENCE_ENDS)
    if sentence > half:
        return sentence
    return last_between_words(text, end, half)


def part_counter(kind: str) -> str:
    """Return the counter that names the memory that a kind has shown in part."""
    return f"{kind}.part"


def upto_counter(kind: str) -> str:
    """Return the counter of the characters of that memory that were shown."""
    return f"{kind}.upto"


def begun_params(stream: Stream, kind: str, numbers: Iterable[int]) -> dict[str, Any]:
    """Return the parameter with the progress in one of these memories, if any was begun."""
    counters = stream.head.counters
    number, upto = counters.get(part_counter(kind), 0), counters.get(upto_counter(kind), 0)
    return {"begun": [number, upto]} if upto and number in numbers else {}


def begun_in(job: Job) -> Begun:
    """Read the progress in a memory from a job's parameters."""
    match job.params.get("begun"):
        case [int(number), int(upto)] if upto > 0:
            return Begun(number, upto)
        case _:
            return NOT_BEGUN


def progress(kind: str, owner: str, pieces: Iterable[Piece]) -> tuple[Effect, ...]:
    """Return the effects that record the progress in a memory shown in part; none if all are whole."""
    part = next((piece for piece in pieces if not piece.whole), None)
    if part is None:
        return ()
    return (
        SetCounter(owner=owner, name=part_counter(kind), value=part.entry.number),
        SetCounter(owner=owner, name=upto_counter(kind), value=part.upto),
    )


def whole_numbers(pieces: Iterable[Piece]) -> tuple[int, ...]:
    """Return the numbers of the memories shown to their end, ascending."""
    return tuple(sorted(piece.entry.number for piece in pieces if piece.whole))


def showing(
    rendered: Rendered,
    answer: type[BaseModel],
    pieces: Sequence[Piece],
    passed: Callable[[Sequence[Piece]], tuple[Effect, ...]],
    besides: Iterable[Entry] = (),
) -> Prompt:
    """Return the prompt of a job that passes what it shows.

    Args:
        pieces: the pieces that the template received, oldest first.
        passed: returns the effects of the pieces that were shown.
        besides: further entries of the owner that the prompt shows but the job does not pass.

    Raises:
        TemplateError: if the template does not show even the first piece.
    """
    shown: list[Piece] = []
    for piece in pieces:  # stop at the first omission: later pieces wait as well
        if neutral(piece.text) not in rendered.user:
            break
        shown.append(piece)
    if pieces and not shown:
        raise TemplateError("the prompt template shows in full none of the memories that its answer replaces")
    used = sorted({*(piece.entry.number for piece in shown), *(entry.number for entry in besides)})
    return Prompt(
        system=rendered.system,
        user=rendered.user,
        answer=answer,
        version=rendered.version,
        used=tuple(used),
        shown=whole_numbers(shown),
        then=passed(shown),
    )


class TooLong(CogitateError, ValueError):
    """An answer is too long; the message tells the model the limit."""

    def __init__(self, message: str, shorter: BaseModel, cut: int) -> None:
        super().__init__(message)
        self.shorter = shorter  # the answer without its oldest part
        self.cut = cut  # tokens of that part


def within(size: SummarySize, answer: BaseModel, text: str, *, words: int = 0) -> str:
    """Check that a summary is within its bound, and return its text.

    Args:
        words: the number of words that the prompt asked for, if not that of the size.

    Raises:
        TooLong: if the text exceeds the bound.
    """
    if size.fits(text):
        return text
    kept, cut = size.cut(text)
    message = f"the summary has {count_words(text)} words: write at most {words or size.words}"
    raise TooLong(message, answer.model_copy(update={"summary": kept}), cut)


def effects_of(kind: Kind, case: Case, answer: BaseModel, prompt: Prompt, *, cut: bool = False) -> tuple[Effect, ...]:
    """Return all effects of a validated answer: its own, and those on the entries that its prompt showed.

    Args:
        cut: whether to cut an answer that is too long, and count what is lost, instead of raising an error.

    Raises:
        ValueError: if the answer is unusable.
    """
    lost = 0
    try:
        made = kind.effects(case, answer, prompt.used)
    except TooLong as error:
        if not cut:
            raise
        made, lost = kind.effects(case, error.shorter, prompt.used), error.cut
    changed = msgspec.structs.replace
    effects = [changed(one, cut=lost) if lost and isinstance(one, ReplaceSummary | Append) else one for one in made]
    effects += prompt.then
    if prompt.shown is None:
        return tuple(effects)
    return tuple(
        changed(one, shown=prompt.shown) if isinstance(one, Archive | AdvanceCursor) else one for one in effects
    )

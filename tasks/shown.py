"""Bound what a job archives, or passes with its cursor, to exactly what its prompt showed, the oldest first.

How a prompt is fitted decides what was shown. A kind offers its material in order (`oldest_first`), and `showing` makes
the prompt: only the pieces that stand in the rendered text count as shown, whatever a template leaves out, and only
their effects are carried out with the answer (`Prompt.then`). What was not shown waits for the next job. A heuristic
reads all of its material, and passes all of it.

One memory that is longer than a prompt is shown in parts. How far it was shown is kept in two counters of the owner's
head, "<kind>.part" and "<kind>.upto", and named in the next request as "begun". Characters are counted from the end of
what the template is given: a name before a message ("Ada: …") may be there at one time and not at another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel

from cogitate.memory.effects import AdvanceCursor, Append, Archive, Effect, ReplaceSummary, SetCounter
from cogitate.memory.entry import Entry
from cogitate.memory.errors import CogitateError
from cogitate.memory.language.endings import SPACED, UNSPACED
from cogitate.memory.language.truncation import last_between_words
from cogitate.memory.language.word_count import count_words
from cogitate.memory.stream import Stream
from cogitate.memory.summaries.size import SummarySize
from cogitate.prompts.render import Rendered, TemplateError, neutral
from cogitate.tasks.job import Job
from cogitate.tasks.kind import Case, Kind, Prompt

MOST = 20_000  # characters among which a prompt chooses, so that a 64th of them is a small step
LEAST = 200  # characters of a memory that are shown at the least
ELLIPSIS = "…"
#: Where a part of a memory ends if it can.
_SENTENCE_ENDS = (*(f"{mark} " for mark in SPACED), *UNSPACED)


class Begun(NamedTuple):
    """The extent to which earlier jobs have shown a memory."""

    number: int = 0
    upto: int = 0  # characters


NOT_BEGUN = Begun()


class Piece(NamedTuple):
    """The part of one memory that a prompt shows: all that was not shown before, or the next piece of it."""

    entry: Entry
    text: str  # as the template is given it
    upto: int = 0  # characters of the memory that are read by then; 0: to its end

    @property
    def whole(self) -> bool:
        """Return whether the memory is shown to its end."""
        return not self.upto


def oldest_first(material: Sequence[tuple[Entry, str]], share: float, begun: Begun = NOT_BEGUN) -> list[Piece]:
    """Return what a prompt shows of memories when a share of their text fits: whole ones, or a part of the oldest.

    Args:
        material: memories with their texts, the oldest first.
        share: of the characters; a share of 1 shows all of at most `MOST` characters.
        begun: how far the oldest was shown already.
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
    """Return where the part of a text begins that was not shown yet."""
    return max(0, begun.upto + len(text) - len(entry.text)) if entry.number == begun.number else 0


def everything(entries: Iterable[Entry]) -> list[Piece]:
    """Return the pieces of what a heuristic reads: every memory to its end."""
    return [Piece(entry, entry.text) for entry in entries]


def _room(size: int, share: float) -> int:
    return min(size, MOST) if share >= 1 else int(share * min(size, MOST))


def _shown(text: str, at: int, *, ends: bool) -> str:
    return (ELLIPSIS if at else "") + text.strip() + ("" if ends else ELLIPSIS)


def _end_of_part(text: str, start: int, room: int) -> int:
    """Return where a part of a text ends: after a sentence if one ends in its second half, else between words."""
    end, half = start + room, start + room // 2
    sentence = max(text.rfind(mark, half, end) + len(mark) for mark in _SENTENCE_ENDS)
    if sentence > half:
        return sentence
    return last_between_words(text, end, half)


def part_counter(kind: str) -> str:
    """Return the counter that names the memory of which a kind has shown only a part."""
    return f"{kind}.part"


def upto_counter(kind: str) -> str:
    """Return the counter of the characters of that memory that were shown."""
    return f"{kind}.upto"


def begun_params(stream: Stream, kind: str, numbers: Iterable[int]) -> dict[str, Any]:
    """Return the parameter that names how far one of these memories was shown; none where none was begun."""
    counters = stream.head.counters
    number, upto = counters.get(part_counter(kind), 0), counters.get(upto_counter(kind), 0)
    return {"begun": [number, upto]} if upto and number in numbers else {}


def begun_in(job: Job) -> Begun:
    """Return what the parameters of a job say of a memory that was begun."""
    match job.params.get("begun"):
        case [int(number), int(upto)] if upto > 0:
            return Begun(number, upto)
        case _:
            return NOT_BEGUN


def progress(kind: str, owner: str, pieces: Iterable[Piece]) -> tuple[Effect, ...]:
    """Return the effects that note how far a memory was shown of which only a part was; none where all are whole."""
    part = next((piece for piece in pieces if not piece.whole), None)
    if part is None:
        return ()
    return (
        SetCounter(owner=owner, name=part_counter(kind), value=part.entry.number),
        SetCounter(owner=owner, name=upto_counter(kind), value=part.upto),
    )


def whole_numbers(pieces: Iterable[Piece]) -> tuple[int, ...]:
    """Return the numbers of the memories that are shown to their end, ascending."""
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
        pieces: what the template was given, the oldest first.
        passed: returns the effects that follow from pieces that were shown.
        besides: further entries of the owner that the prompt shows, and that the job does not pass.

    Raises:
        TemplateError: when the template shows not even the first piece.
    """
    shown: list[Piece] = []
    for piece in pieces:  # up to the first that is left out: what comes after it waits as well
        if neutral(piece.text) not in rendered.user:
            break
        shown.append(piece)
    if pieces and not shown:
        raise TemplateError("the prompt template shows no memory in full of those that its answer is to replace")
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
    """An answer is longer than it may be; the message tells the model its bound."""

    def __init__(self, said: str, shorter: BaseModel, cut: int) -> None:
        super().__init__(said)
        self.shorter = shorter  # the answer without its oldest part
        self.cut = cut  # tokens of that part


def within(size: SummarySize, answer: BaseModel, text: str, *, words: int = 0) -> str:
    """Return the text of a summary that is within its bound.

    Args:
        words: that the model was asked for, if not those of its size.

    Raises:
        TooLong: when it is not.
    """
    if size.fits(text):
        return text
    kept, cut = size.cut(text)
    said = f"the summary has {count_words(text)} words: write at most {words or size.words}"
    raise TooLong(said, answer.model_copy(update={"summary": kept}), cut)


def effects_of(kind: Kind, case: Case, answer: BaseModel, prompt: Prompt, *, cut: bool = False) -> tuple[Effect, ...]:
    """Return all effects of a validated answer: what it says, and what follows from what its prompt showed.

    Args:
        cut: cut an answer that is too long, and count that, instead of raising.

    Raises:
        ValueError: when the answer is unusable.
    """
    lost = 0
    try:
        made = kind.effects(case, answer, prompt.used)
    except TooLong as error:
        if not cut:
            raise
        made, lost = kind.effects(case, error.shorter, prompt.used), error.cut
    effects = (*(_counted(effect, lost) for effect in made), *prompt.then)
    return effects if prompt.shown is None else tuple(_named(effect, prompt.shown) for effect in effects)


def _counted(effect: Effect, lost: int) -> Effect:
    if lost and isinstance(effect, ReplaceSummary | Append):
        return msgspec.structs.replace(effect, cut=lost)
    return effect


def _named(effect: Effect, shown: tuple[int, ...]) -> Effect:
    if isinstance(effect, Archive | AdvanceCursor):
        return msgspec.structs.replace(effect, shown=shown)
    return effect

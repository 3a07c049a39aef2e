"""Faults of an answer that is well-formed and still no thought: nothing of it belongs into a memory.

Small models, and large ones that decline in prose, fill a schema with placeholders, the prompt's own words, one thing
over and over, or words about something else. Each rule looks at the answer and its prompt alone, so an answer is judged
alike in every worker. The model is shown the fault once (`workers.jobs.repair`); then the heuristic takes its place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from tasks.kind import Prompt

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LATIN = re.compile(r"[a-zß-ɏ]{5,}")
_FILLER = frozenset({"lorem ipsum", "null", "placeholder", "string", "tbd", "todo"})
_TIME = re.compile(r"\d{1,2}(:\d\d)? ?([ap]\.?m\.?)?", re.IGNORECASE)
_DECLINES = re.compile(
    r"\b(as|i am|i['’]m|being) (an? |just an? )?(ai|artificial intelligence|(large )?language model)\b|"
    r"\bi(['’]m| am) (sorry|unable|not able)\b[^.!?]{0,60}\b(assist|comply|fulfill?|generate|help|provide|reflect)\b|"
    r"\bi (cannot|can['’]t|can not) (assist|comply|fulfill?|generate|help with|provide|reflect)\b",
    re.IGNORECASE,
)
_RUN = 6  # words in a row that nobody writes twice by chance
_COPIED = 0.5  # share of a text's words within such runs of the instructions
_LONG = 20  # words from which on a text is looked at for loops
_VARIED = 0.5  # share of different groups of three words among all: prose is above 0.9
_FEW = 4  # equal items that a day may have: "Work" before lunch, after it, after tea, …
_SAME = 0.75  # share of equal items that a day may have
_TOPICAL = 12  # words of content from which on at least one must be among what was shown
_STEM = 5  # letters by which words are compared


def fault_of(answer: BaseModel, prompt: Prompt) -> str | None:
    """Return what is wrong with an answer, in words for the model, or None."""
    value = answer.model_dump()
    texts = [text for text in _texts(value) if text and not _TIME.fullmatch(text)]
    for text in texts:
        words = _WORD.findall(text.lower())
        if not any(character.isalnum() for character in text) or " ".join(words) in _FILLER:
            return f"{text[:40]!r} is a placeholder; write what the character would"
        if (found := _DECLINES.search(text)) is not None and found[0].lower() not in prompt.user.lower():
            return f"{found[0]!r} is not what the character would say; stay in the character's world"
        if _copies(words, prompt.system):
            return "it repeats the instructions instead of following them"
        if len(words) >= _LONG and _variety(words) < _VARIED:
            return "it says the same words over and over"
    for items in _lists(value):
        most = max(Counter(items).values())
        if most >= _FEW and most > _SAME * len(items):
            return f"{most} of {len(items)} items are the same"
    if not _relates(texts, prompt):
        return "nothing in it is about what you were shown"
    return None


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of an answer."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _lists(value: Any) -> Iterator[list[str]]:
    """Yield the texts of each list of objects: one for each object, without times."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _lists(part)
    elif isinstance(value, list) and value:
        rows = [" ".join(t.casefold() for t in _texts(part) if not _TIME.fullmatch(t)) for part in value]
        if any(rows):
            yield rows


def _copies(words: list[str], instructions: str) -> bool:
    if len(words) < _RUN:
        return False
    known = _runs(_WORD.findall(instructions.lower()), _RUN)
    covered: set[int] = set()
    for start in range(len(words) - _RUN + 1):
        if tuple(words[start : start + _RUN]) in known:
            covered.update(range(start, start + _RUN))
    return len(covered) > _COPIED * len(words)


def _runs(words: list[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


def _variety(words: list[str]) -> float:
    return len(_runs(words, 3)) / (len(words) - 2)


def _relates(texts: list[str], prompt: Prompt) -> bool:
    """Return whether an answer has a word of content in common with what it was asked about, or few of its own."""
    content = {word for text in texts for word in _stems(text)}
    return len(content) < _TOPICAL or not content.isdisjoint(_stems(prompt.user))


def _stems(text: str) -> set[str]:
    """Return the beginnings of a text's long words; scripts without spaces have none that could be compared."""
    return {word[:_STEM] for word in _LATIN.findall(text.lower())}

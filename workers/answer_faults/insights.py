"""Faults of an insight: not new, another person's, or unrelated to the memories.

The built-in instructions ask for more than newness, but a run may have other instructions.
"""

from __future__ import annotations

import re

from cogitate.memory.language.text import MARKS, words
from cogitate.workers.answer_faults.found import Fault
from cogitate.workers.answer_faults.prompt_content import PromptContent, bare
from cogitate.workers.answer_faults.relation import is_about

_I = rf"(?:[^\W\d_][{MARKS}]*){{1,4}}"
_SPEAKER = re.compile(rf"\W*{_I}\s?[,，、،]\s?([^,，、،]{{2,60}})[,，、،]")  # "I, Ben Cole, have …"


def fault_of_insight(insight: str, content: PromptContent) -> str | None:
    """Return why an insight violates the instructions or adds nothing new, or None."""
    plain = bare(insight)
    if plain in map(bare, content.reflections):
        return "the character has concluded this before; go beyond it"
    if plain in content.user.casefold() and any(plain in bare(text) for text in content.memories):
        return Fault("it only repeats a memory; say what follows from it", "copied")
    if not content.built_in:
        return None
    speaker = _SPEAKER.match(insight)
    if speaker is not None and _is_another(speaker[1], content):
        return f"{speaker[1]!r} is not the character; write the insight as the character"
    if not is_about(insight, content.memories, content):
        return "the insight is not about what the memories say: name persons, places and facts of them"
    return None


def _is_another(name: str, content: PromptContent) -> bool:
    """Return whether a text is the name of a listed person, or all names that are not the character's.

    In a script without capitals, what the memories have is taken for a name.
    """
    if name in content.people:
        return True
    if name.upper() == name.lower():
        is_name = any(name in memory for memory in content.memories)
    else:
        is_name = all(part[0].isupper() for part in name.split())
    return is_name and content.vocabulary.isdisjoint(words(name))

"""Whether a text is about what its prompt shows: it names someone, or takes up what a memory tells.

No language is known here. The instructions are a sample of theirs: what they say themselves tells nothing about the
memories, and a text or memories with few words of them are in another language, where words cannot be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cogitate.memory.language.text import words
from cogitate.workers.answer_faults.prompt_content import PromptContent

_CAPITALIZED = re.compile(r"\b[^\W\d_]\w*")
_LIKE = 1 / 5  # share of a text's words in the instructions, above which it is in their language
_ENOUGH = 2  # shared words of content; a name counts for two
_STEM = 4  # letters of a word that are compared


def is_about(text: str, shown: Iterable[str], content: PromptContent, *, least: int = 1) -> bool:
    """Return whether a text is about the shown texts or people, or cannot be compared with them.

    The character's own name tells nothing.

    Args:
        least: the words of content from which a text is compared.
    """
    told = " ".join(shown)
    own = _stems(words(text)) - _stems(content.vocabulary)
    if not told or len(own) < least or not (_is_like(text, content) and _is_like(told, content)):
        return True
    names = _names(text, content) & _names(" ".join((told, *content.people)), content)
    return len(own & _stems(words(told))) + _ENOUGH * len(names) >= min(_ENOUGH, len(own))


def _is_like(text: str, content: PromptContent) -> bool:
    said = words(text)
    return sum(word in content.vocabulary for word in said) > _LIKE * len(said)


def _stems(said: Iterable[str]) -> set[str]:
    return {word[:_STEM] for word in said if len(word) >= _STEM}


def _names(text: str, content: PromptContent) -> set[str]:
    """Return the words of a text that begin with a capital and that the prompt never writes otherwise."""
    return {word for word in _CAPITALIZED.findall(text) if word[0].isupper()} - content.not_names

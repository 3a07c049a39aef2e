"""Whether a text is about what its prompt shows: it names someone, or takes up what a memory tells.

No language is known here. The instructions are a sample of theirs: what they say themselves tells nothing about the
memories. A text and memories can be compared if they are in one script and both have many words of the instructions,
or neither does.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from cogitate.memory.language.text import MARKS, is_unspaced, words
from cogitate.workers.answer_faults.prompt_content import PromptContent

_CAPITALIZED = re.compile(r"\b[^\W\d_]\w*")
_RUN = re.compile(rf"(?:[^\W_]|[{MARKS}])+")
_LIKE = 1 / 5  # share of a text's words in the instructions, above which it is in their language; of memories half
_ENOUGH = 2  # shared words of content; a name counts for two
_STEM = 4  # letters of a word that are compared; a character of several sounds counts for two
_LONGEST = 4 * _STEM  # characters of a beginning, with the marks on its letters, which are not compared
_HEAVY = re.compile("[\u30a1-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")


def is_about(text: str, shown: Iterable[str], content: PromptContent, *, least: int = 1) -> bool:
    """Return whether a text is about the shown texts or people, or cannot be compared with them.

    The character's own name tells nothing.

    Args:
        least: the words of content from which a text is compared.
    """
    told = " ".join(shown)
    own = _stems(text) - _stems(content.instructions)
    if not told or len(own) < least or not _can_be_compared(text, told, content):
        return True
    names = _names(text, content) & _names(" ".join((told, *content.people)), content)
    names.update(person for person in content.people if person == person.lower() and person in text)  # no capitals
    enough = 1 if _HEAVY.search(text) else _ENOUGH  # two such characters are a word of content, or a name
    return len(own & _stems(told)) + _ENOUGH * len(names) >= min(enough, len(own))


def _can_be_compared(text: str, told: str, content: PromptContent) -> bool:
    return _script(text) == _script(told) and _is_like(text, _LIKE, content) is _is_like(told, _LIKE / 2, content)


def _is_like(text: str, least: float, content: PromptContent) -> bool:
    said = words(text)
    return sum(len(word) > 1 and word in content.vocabulary for word in said) > least * len(said)


def _script(text: str) -> str:
    """Return the script of most letters of a text, as Unicode names it; Japanese is written in Chinese ones too."""
    scripts = Counter(unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha())
    most = max(scripts, key=scripts.__getitem__, default="")
    return "CJK" if most in ("HIRAGANA", "KATAKANA") else most


def _stems(text: str) -> set[str]:
    """Return the beginnings of words, and in scripts without spaces all that may be one."""
    return {stem for run in _RUN.findall(text.casefold()) for stem in _beginnings(run)}


def _beginnings(run: str) -> Iterator[str]:
    for start in range(len(run) if is_unspaced(run[0]) else 1):
        weight = 0
        for end, char in enumerate(run[start : start + _LONGEST], start + 1):
            weight += 2 if _HEAVY.match(char) else not unicodedata.combining(char)
            if weight >= _STEM:
                yield run[start:end]
                break


def _names(text: str, content: PromptContent) -> set[str]:
    """Return the words of a text that begin with a capital and that the prompt never writes otherwise."""
    return {word for word in _CAPITALIZED.findall(text) if word[0].isupper()} - content.not_names

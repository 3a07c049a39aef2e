"""Faults of a summary: it is unrelated to the memories in the prompt."""

from __future__ import annotations

from cogitate.memory.language.text import function_word_share, stems
from cogitate.workers.answer_faults.insights import ENGLISH
from cogitate.workers.answer_faults.prompt_content import PromptContent

_FEW_WORDS = 4  # different words of content from which on a summary is compared with what it tells of
_TOLD = 1 / 3  # share of them that what it tells of must have
_PARTLY_ENGLISH = 0.2  # share of function words of what is shown in English, which has names and times


def fault_of_summary(summary: str, content: PromptContent) -> str | None:
    """Return that a summary in English, of memories in English, has hardly a word of them, or None.

    A host's own kind, whose prompt may show anything anywhere, is held to it where that stands between tags.
    """
    said, shown = set(stems(summary)), content.fenced
    if len(said) < _FEW_WORDS or function_word_share(summary) < ENGLISH or function_word_share(shown) < _PARTLY_ENGLISH:
        return None
    told = len(said.intersection(stems(shown))) >= _TOLD * len(said)
    return None if told else "it tells of something else than what you were shown"

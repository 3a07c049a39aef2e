"""Faults of a summary: it is unrelated to the memories in the prompt."""

from __future__ import annotations

from cogitate.memory.language.text import function_word_share, stems
from cogitate.workers.answer_faults.insights import ENGLISH
from cogitate.workers.answer_faults.prompt_content import PromptContent

_FEW_WORDS = 4  # different content words from which a summary is compared with its sources
_TOLD = 1 / 3  # share of these words that the sources must contain
_PARTLY_ENGLISH = 0.2  # share of function words from which sources, with their names and times, count as English


def fault_of_summary(summary: str, content: PromptContent) -> str | None:
    """Return a fault if an English summary of English memories shares hardly a word with them, else None.

    A host's own kind may arrange its prompt freely; it is checked only if the memories are between tags.
    """
    said, shown = set(stems(summary)), content.fenced
    if len(said) < _FEW_WORDS or function_word_share(summary) < ENGLISH or function_word_share(shown) < _PARTLY_ENGLISH:
        return None
    related = len(said.intersection(stems(shown))) >= _TOLD * len(said)
    return None if related else "it tells of something else than what you were shown"

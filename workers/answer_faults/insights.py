"""Faults of an insight: not the character's own, not new, or unrelated to the memories.

The built-in instructions ask for more, but a run may have other instructions. The rules that compare words handle
English only.
"""

from __future__ import annotations

import re

from cogitate.memory.language.languages import is_english
from cogitate.memory.language.text import FUNCTION_WORDS, function_word_share, stem, stems
from cogitate.memory.language.text import words as words_of
from cogitate.workers.answer_faults.found import Fault
from cogitate.workers.answer_faults.prompt_content import PromptContent, bare
from cogitate.workers.answer_faults.thoughts import QUOTED, YOU

ENGLISH = 1 / 3  # share of function words from which a text counts as English
_ONESELF = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves)\b", re.IGNORECASE)
_CAPITALIZED = re.compile(r"\b[A-ZÀ-ÖØ-ÞА-Я]\w*")
_DRAWN = 3  # words that an insight must share with one memory; names count twice
_OF_TIME = frozenset(map(stem, ("day", "today", "tonight", "tomorrow", "yesterday", "morning", "evening", "night")))


def fault_of_insight(insight: str, content: PromptContent) -> str | None:
    """Return why an insight violates the instructions or adds nothing new, or None."""
    if content.built_in and not _is_about_oneself(insight):
        return "the insight is not in the first person; write it as the character"
    plain = bare(insight)
    if plain in map(bare, content.reflections):
        return "the character has concluded this before; go beyond it"
    if plain in content.user.casefold() and any(plain in bare(text) for text in content.memories):
        return Fault("it only repeats a memory; say what follows from it", "copied")
    if content.built_in and not _is_drawn_from_memories(insight, content):
        return "the insight is not about what the memories say: name persons, places and facts of them"
    return None


def _is_about_oneself(insight: str) -> bool:
    """Return whether an insight says "I" more than "you", or is not in English.

    Quoted text does not count, nor does a "you" that follows a colon.
    """
    own = QUOTED.sub("", insight)
    addressed = len(YOU.findall(own.partition(":")[0]))
    return len(_ONESELF.findall(own)) > addressed or not is_english(own) or function_word_share(own) < ENGLISH


def _is_drawn_from_memories(insight: str, content: PromptContent) -> bool:
    """Return whether an insight names a person or draws on one of the memories, as instructed.

    Sharing a common word or two is not enough: "the most important thing today is time". A short insight, of at least
    two words, may have one word that is not in the memory. An insight in another language than the memories passes.
    """
    words = set(stems(insight)) - _OF_TIME
    some_english = any(word in FUNCTION_WORDS for text in content.memories for word in words_of(text))
    if not some_english or not is_english(insight) or function_word_share(insight) < ENGLISH:
        return True
    named = _capitalized(insight)
    if not named.isdisjoint(word for name in content.people for word in _capitalized(name)):
        return True
    if len(words) < 2:
        return False
    wanted = min(_DRAWN, len(words) - 1)
    for text in content.memories:
        shared = words.intersection(stems(text))
        if len(shared) + len(shared & named & _capitalized(text)) >= wanted:
            return True
    return False


def _capitalized(text: str) -> set[str]:
    """Return the stems of the capitalized words: names, and the first words of sentences."""
    return {stem(word.casefold()) for word in _CAPITALIZED.findall(text)}

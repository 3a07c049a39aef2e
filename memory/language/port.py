"""The languages that heuristics know, behind one port: `language_of(text)` returns what knows the language of a text.

English has rules, which retell a sentence, or tell whether it is mere courtesy. For any other language `Neutral`
answers, which changes no word: what it is asked about is quoted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from cogitate.memory.language.english.plug import English
from cogitate.memory.language.languages import is_english
from cogitate.memory.language.speakers import Speakers


class Language(Protocol):
    """What a language can tell of a sentence, and how it retells one."""

    def is_courtesy(self, sentence: str, speakers: Speakers) -> bool:
        """Return whether a sentence holds nothing but thanks, praise and encouragement."""
        ...

    def stands_alone(self, sentence: str) -> bool:
        """Return whether no pronoun of a sentence refers to an earlier one."""
        ...

    def resolved(self, sentence: str, before: str) -> str:
        """Return a sentence with the subject of the sentence `before` it in the place of its opening pronoun."""
        ...

    def in_own_words(self, text: str, name: str, names: Iterable[str] = ()) -> str:
        """Return an observation as the one called `name` tells it, if that is certain.

        Args:
            names: of all whom the text may name.
        """
        ...

    def with_subject(self, text: str, subject: str) -> str:
        """Return an observation with the subject that it leaves out: "Saw a cat" becomes "Ada saw a cat"."""
        ...

    def leaning(self, stemmed: frozenset[str], of_itself: bool) -> float:
        """Return how memorable a text seems by its stems and whether it is about its owner; 2.9 is neutral."""
        ...


class Neutral:
    """A language without rules: each sentence stands as it was said."""

    def is_courtesy(self, sentence: str, speakers: Speakers) -> bool:
        """Return False: what is courtesy is not known."""
        return False

    def stands_alone(self, sentence: str) -> bool:
        """Return True: what a pronoun is, is not known."""
        return True

    def resolved(self, sentence: str, before: str) -> str:
        """Return the sentence."""
        return sentence

    def in_own_words(self, text: str, name: str, names: Iterable[str] = ()) -> str:
        """Return the text."""
        return text

    def with_subject(self, text: str, subject: str) -> str:
        """Return the text."""
        return text

    def leaning(self, stemmed: frozenset[str], of_itself: bool) -> float:
        """Return the neutral leaning, a little more of oneself."""
        return 2.9 + 0.5 * of_itself


_ENGLISH, _NEUTRAL = English(), Neutral()


def language_of(text: str) -> Language:
    """Return what knows the language of a text: English where nothing speaks against it."""
    return _ENGLISH if is_english(text) else _NEUTRAL

"""English as a language of `cogitate.memory.language.port`."""

from __future__ import annotations

from collections.abc import Iterable

from cogitate.memory.language.english.courtesies import is_small_talk
from cogitate.memory.language.english.leanings import leaning
from cogitate.memory.language.english.own_view import in_own_words, with_subject
from cogitate.memory.language.english.references import leans_on_others, resolved
from cogitate.memory.language.speakers import Speakers


class English:
    """The rules for English."""

    def is_courtesy(self, sentence: str, speakers: Speakers) -> bool:
        """Return whether a sentence is a formula, or has only names, function words and polite words."""
        return is_small_talk(sentence, speakers)

    def stands_alone(self, sentence: str) -> bool:
        """Return whether no pronoun refers to an earlier sentence."""
        return not leans_on_others(sentence)

    def resolved(self, sentence: str, before: str) -> str:
        """Return the sentence with the subject of the one before it for an opening "she", or an "it"."""
        return resolved(sentence, before)

    def in_own_words(self, text: str, name: str, names: Iterable[str] = ()) -> str:
        """Return an observation in the first person: "Ada Smith lost a hat" is "I lost a hat"."""
        return in_own_words(text, name, names)

    def with_subject(self, text: str, subject: str) -> str:
        """Return an observation with the subject that it leaves out."""
        return with_subject(text, subject)

    def leaning(self, stemmed: frozenset[str], of_itself: bool) -> float:
        """Return how memorable a text seems by the groups of words that it has."""
        return leaning(stemmed, of_itself)

"""A talk: who takes part, which of them a sentence may name, and the lines that each says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.language.text import words

_FEW = 32  # names up to which a search for each is cheaper than a scan of every letter of a sentence
_START = 3  # characters of a name by which a larger set is searched
_SHORTEST = 3  # letters of a word that may be the beginning of a name

Quoting = Callable[[str, str, str, bool, int | None], str]  # see `Language.quoted`
Doers = Callable[[], Collection[str]]  # finds the names of those who did what a note tells


class Speakers:
    """The names of all who speak, in order, each once."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(dict.fromkeys(names))
        self._known = frozenset(self.names)
        self.written = frozenset(word for name in self.names for word in name.split() if word[:1].isupper())
        self.words = frozenset(word for name in self.names for word in words(name))
        self._beginnings = {word[:end] for word in self.words for end in range(_SHORTEST, len(word))}
        self._by_start: dict[str, list[int]] = {}
        for index, name in enumerate(self.names):
            self._by_start.setdefault(beginning_of(name)[:_START], []).append(index)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def is_part_of_name(self, word: str) -> bool:
        """Return whether a case-folded word belongs to a name, or begins one, as "Mel" does "Melanie"."""
        return word in self.words or word in self._beginnings

    def without_names(self, text: str) -> str:
        """Return a text without the names of all, which may be written in another script."""
        for name in self.perhaps_in(text):
            text = text.replace(name, " ")
        return text

    def other_than(self, name: str) -> str:
        """Return the only other speaker; "" if there are several, or none."""
        others = [other for other in self.names if other != name] if len(self.names) <= 2 else []
        return others[0] if len(others) == 1 else ""

    def perhaps_in(self, text: str) -> Sequence[str]:
        """Return the names that may occur in a text, whole or in short, and few others, in order."""
        if len(self.names) <= _FEW:
            return self.names
        low = folded(text)
        starts = {low[at : at + size] for size in range(1, _START + 1) for at in range(len(low))}
        found = [index for start in starts & self._by_start.keys() for index in self._by_start[start]]
        return [self.names[index] for index in sorted(found)]


class Talk(NamedTuple):
    """The facts about a whole talk that each of its lines needs."""

    speakers: Speakers
    names: Collection[str]  # words that keep their capital
    quoted: Quoting  # reports speech in the readers' language
    in_english: bool  # the readers' language is English


class Speech(NamedTuple):
    """Who says a clause, and how."""

    speaker: str  # "": nobody says it
    quote: str = ""  # the clause, word for word
    minute: int | None = None  # game time whose day is told with a quote
    listener: str = ""  # the only one spoken to, if that is known
    fluent: bool = True  # the speaker neither hesitated nor broke off


class Utterance(NamedTuple):
    """One line of a summary's source: its speaker (empty for an observation), text and game time."""

    speaker: str
    text: str
    minute: int
    listener: str = ""  # the only one spoken to, if that is known
    dated: bool = True  # the summary tells on which day it is said
    is_part: bool = False  # of a sentence


@lru_cache(maxsize=1_024)
def beginning_of(name: str) -> str:
    """Return the folded beginning that all forms of a name share."""
    return folded(min(forms_of(name), key=len))


def folded(text: str) -> str:
    """Return a text in which characters are equal if they are equal to `re.IGNORECASE`."""
    return text.replace("İ", "i").replace("ı", "i").casefold()


def forms_of(name: str) -> list[str]:
    """Return the forms of a name: the full name, its first word, and that word's first syllable ("Mel")."""
    first = name.split()[0] if name.split() else name
    forms = {name, first, first[:3]} if len(first) > 4 else {name, first}
    return sorted(forms, key=lambda form: (-len(form), form))

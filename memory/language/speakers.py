"""The participants of a conversation, and which of them a sentence may name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cogitate.memory.language.references import looks_like_name
from cogitate.memory.language.reported import is_request
from cogitate.memory.language.sentences import beginning_of, folded, is_called
from cogitate.memory.language.text import words

_FEW = 32  # names that are looked for one by one, which takes less than a look at every letter of a sentence
_START = 3  # characters by which more names are found
_SHORTEST = 3  # letters of a word that may be the beginning of a name


#: Two or more capitalised words that address an unknown person: ", Oswin Pike." and "Mother Agnes, I".
_CALLED_AT_END = re.compile(r", ((?:[A-Z][\w'’-]++)(?: [A-Z][\w'’-]++)++)(?=[.!?…]*+$)")
_CALLED_AT_START = re.compile(r"([A-Z][\w'’-]++ [A-Z][\w'’-]++), (?=(?:I|[Yy]ou)\b)")
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)


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
        """Tell whether a case-folded word belongs to a name, or begins one, as "Mel" does "Melanie"."""
        return word in self.words or word in self._beginnings

    def other_than(self, name: str) -> str:
        """Return the only other speaker; "" if there are several, or none."""
        others = [other for other in self.names if other != name] if len(self.names) <= 2 else []
        return others[0] if len(others) == 1 else ""

    def perhaps_in(self, text: str) -> Sequence[str]:
        """Return the names that may stand in a text, whole or in short, and few others, in order."""
        if len(self.names) <= _FEW:
            return self.names
        low = folded(text)
        starts = {low[at : at + size] for size in range(1, _START + 1) for at in range(len(low))}
        found = [index for start in starts & self._by_start.keys() for index in self._by_start[start]]
        return [self.names[index] for index in sorted(found)]

    def addressee(self, sentence: str, speaker: str) -> str:
        """Return the person whom a sentence of `speaker` addresses by name, speaker or not; "" without one."""
        for name in self.perhaps_in(sentence):
            if name != speaker and is_called(name, sentence):
                return name
        end = _CALLED_AT_END.search(sentence)
        if end and (_YOU.search(sentence, 0, end.start()) or is_request([w.lower() for w in sentence.split()[:2]])):
            return end[1]
        start = _CALLED_AT_START.match(sentence)
        return start[1] if start and looks_like_name(start[1].split()[0], first=True) else ""

"""Extracts the parts of a prompt that rules compare with an answer, and decides whether a text is about them.

Nothing here depends on a language. The instructions serve as a sample of their language; words that a text shares with
them say nothing about the memories. A text is comparable with memories if both are in one script, and if both or
neither share many words with the instructions.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, Generic, TypeVar

from cogitate.memory.language.sentences import SPACED, UNSPACED
from cogitate.memory.language.text import MARKS, is_unspaced, normalized, words
from cogitate.tasks.kind import Prompt

#: How built-in prompts address the model.
ASKED = re.compile(r"You (?:decide|plan|reflect) (?:for|as) ([^,.\n]+)", re.IGNORECASE)
# A search for text that begins with a line feed skips from line to line; "^" stops at each character.
_LINE_ASKED = re.compile(rf"\n{ASKED.pattern}", re.IGNORECASE)
_NEAR = re.compile(r"\nNear(?: [^:\n]+)?: (.+)")
_PEOPLE = re.compile(r"\nPeople: (.+)")
_FENCE = re.compile(r"^</?\w+>$", re.MULTILINE)
_MARKUP = re.compile(r"^</?\w+>$|^- \[[^\[\]]*\] ", re.MULTILINE)
_FENCED = re.compile(r"\n<(\w+)>(?=\n)[^<]*(?:<[^<]*)*?(?<=\n)</\1>(?=\n)")
_LETTERS = re.compile(r"[^\W\d_]+")
_NO_LETTER = re.compile(r"[\W_]+")
_TYPE = re.compile(r" \([^()]*\)$")

T = TypeVar("T")


class _Once(Generic[T]):
    """A property computed once; before Python 3.12, all threads wait for one lock of `cached_property`."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[object]) -> T:
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


class PromptContent:
    """The content of one prompt. Its parts are lists of lines and names, without the template's markup."""

    def __init__(self, prompt: Prompt) -> None:
        self.system = prompt.system
        self.user = prompt.user
        self.built_in = prompt.built_in
        self.choices_of = {limit.field: limit.choices for limit in prompt.constraints if limit.choices}
        self.choices = frozenset(chain.from_iterable(self.choices_of.values()))
        self._lines = f"\n{prompt.user}\n"  # each has a line feed before and after it
        listed = _PEOPLE.search(self._lines)  # a line such as "People: Ada Lane; Ben Arkwright"
        self.people = listed[1].split("; ") if listed is not None else []
        self._without_people = self._lines.replace(listed[0], "\nPeople:", 1) if listed is not None else self._lines

    @_Once
    def lower(self) -> str:
        """Return the prompt in lower case, without the description of the answer's format."""
        return self.user.replace("with JSON only", "").lower()  # the end of a repair prompt

    @_Once
    def names(self) -> frozenset[str]:
        """Return the names of the character, the people near it and the choices, each normalised by `name_of`."""
        near = (name for line in _NEAR.findall(self._lines) for name in line.split(", "))
        names = (*self.choices, *_LINE_ASKED.findall(self._lines), *near)
        return frozenset(map(name_of, names)) - {""}

    def listed(self, tag: str) -> list[str]:
        """Return the memories or reflections without their times; a line is "- [day 1, 4:08 PM] Saw the mill."."""
        lines = self.user.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].splitlines()
        return [line.partition("] ")[2] for line in lines if line.startswith("- [")]

    @_Once
    def asked(self) -> str:
        """Return the user's message without the data: without the text between tags and the listed people."""
        return _FENCED.sub("", self._without_people)

    @_Once
    def instructions(self) -> str:
        """Return the prompt without its data."""
        return self.system + self.asked

    @_Once
    def vocabulary(self) -> frozenset[str]:
        """Return the words of the instructions."""
        return frozenset(words(self.instructions))

    @_Once
    def not_names(self) -> frozenset[str]:
        """Return capitalised words that are not names: those of the instructions or that also occur in lower case."""
        others = (word.capitalize() for word in _LETTERS.findall(self._without_people) if word.islower())
        return frozenset((*_LETTERS.findall(self.instructions), *map(str.capitalize, self.vocabulary), *others))

    @_Once
    def fenced(self) -> str:
        """Return the text between tags, such as "<memories>", without tags and times; "" if there are none."""
        first, last = _FENCE.search(self.user), self.user.rfind("</")
        return "" if first is None or last < first.end() else _MARKUP.sub("", self.user[first.end() : last])


def bare(text: str) -> str:
    """Return a text in lower case, without punctuation at either end and a leading article."""
    return text.casefold().strip(" " + SPACED + UNSPACED).removeprefix("the ")


def name_of(text: str) -> str:
    """Normalise a name: "the Town_Hall (office)" becomes "townhall", and "Café" becomes "cafe"."""
    letters = normalized(_NO_LETTER.sub("", _TYPE.sub("", bare(text))), "NFKD")
    return letters if letters.isascii() else "".join(c for c in letters if not unicodedata.combining(c))


_CAPITALIZED = re.compile(r"\b[^\W\d_]\w+")  # "I" is not a name
_RUN = re.compile(rf"(?:[^\W_]|[{MARKS}])+")
_LIKE = 1 / 5  # a text is in the instructions' language if they share more of its words; half of it for memories
_ENOUGH = 2  # content words that two texts on one subject share; a name counts as two
_STEM = 4  # letters at the start of a word that are compared; a character that writes several sounds counts as two
_ASCII_STEM = re.compile(r"(?<![a-z\d])[a-z\d]{4}")  # finds what `_beginnings` yields, 15 times as fast
_LONGEST = 4 * _STEM  # characters of a stem, including combining marks, which do not count as letters
_HEAVY = re.compile("[\u30a1-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")


def is_about(text: str, shown: Iterable[str], content: PromptContent, *, least: int = 0) -> bool:
    """Return whether a text is about the shown texts or people, or is not comparable with them.

    The character's own name does not count, nor do the instructions' words about the character.

    Args:
        least: content words that a text needs to be compared.
    """
    shown, stems = list(filter(None, shown)), _stems(text)
    if not shown or not stems:
        return True
    own = stems - _known_stems(content.system) - _stems(content.asked)
    if len(own) < least:
        return True
    enough = 1 if _HEAVY.search(text) else _ENOUGH  # two such characters are a content word or a name
    missing = min(enough, max(1, len(own)))
    shared: set[str] = set()
    for source in shown:  # most answers share enough with the first
        shared |= own & _stems(source)
        if len(shared) >= missing:
            return True
    missing -= len(shared)
    source = " ".join(shown)
    if _script(text) != _script(source):
        return True
    if _is_like(text, _LIKE, content) is not _is_like(source, _LIKE / 2, content):
        return True
    names = _names(text, content) & _names(" ".join((source, *content.people)), content)
    names.update(person for person in content.people if person == person.lower() and person in text)  # no capitals
    return _ENOUGH * len(names) >= missing


def _is_like(text: str, least: float, content: PromptContent) -> bool:
    """Return whether the instructions contain more than this share of a text's words."""
    used = words(text)
    return sum(len(word) > 1 and word in content.vocabulary for word in used) > least * len(used)


def _script(text: str) -> str:
    """Return Unicode's name for the script of most letters of a text; kana count as CJK, since Japanese mixes them."""
    if text.isascii():  # saves most texts the look-up of each character's name
        return "LATIN" if any(map(str.isalpha, text)) else ""
    scripts = Counter[str]()
    for char, times in Counter(text).items():
        if char.isalpha():
            scripts[unicodedata.name(char, "").partition(" ")[0]] += times
    most = max(scripts, key=scripts.__getitem__, default="")
    return "CJK" if most in ("HIRAGANA", "KATAKANA") else most


def _stems(text: str) -> set[str]:
    """Return the beginnings of words; in scripts without spaces, of every position where a word may begin."""
    if text.isascii():
        return {*_ASCII_STEM.findall(text.casefold())}
    return {stem for run in _RUN.findall(text.casefold()) for stem in _beginnings(run)}


_known_stems = lru_cache(maxsize=16)(_stems)  # jobs of one kind share their instructions


def _beginnings(run: str) -> Iterator[str]:
    for start in range(len(run) if is_unspaced(run[0]) else 1):
        weight = 0
        for end, char in enumerate(run[start : start + _LONGEST], start + 1):
            weight += 2 if _HEAVY.match(char) else not unicodedata.combining(char)
            if weight >= _STEM:
                yield run[start:end]
                break


def _names(text: str, content: PromptContent) -> set[str]:
    """Return the capitalised words of a text that the prompt never writes in lower case."""
    return {word for word in _CAPITALIZED.findall(text) if word[0].isupper()} - content.not_names

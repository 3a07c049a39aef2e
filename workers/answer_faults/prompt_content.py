"""The parts of a prompt that rules compare with an answer, and whether a text is about what they show.

Nothing here depends on a language. The instructions serve as a sample of theirs; their own words say nothing about the
memories. A text can be compared with memories if both are in one script, and if both or neither have many words of the
instructions.
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
    """A property that is computed once; before Python 3.12 `cached_property` has a lock for which all threads wait."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[object]) -> T:
        found = instance.__dict__[self._name] = self._compute(instance)
        return found


class PromptContent:
    """The content of one prompt. Its parts are lists of lines and names, without the template's markup."""

    def __init__(self, prompt: Prompt) -> None:
        self.system = prompt.system
        self.user = prompt.user
        self.built_in = prompt.built_in
        self.choices_of = {one.field: one.choices for one in prompt.constraints if one.choices}
        self.choices = frozenset(chain.from_iterable(self.choices_of.values()))
        self._lines = f"\n{prompt.user}\n"  # each has a line feed before and after it

    @_Once
    def lower(self) -> str:
        """Return the prompt in lower case, without the description of the answer's format."""
        return self.user.replace("with JSON only", "").lower()  # the end of a repair

    @_Once
    def names(self) -> frozenset[str]:
        """Return the names of the character, of those near it and of the choices, each as `name_of` returns it."""
        near = (name for line in _NEAR.findall(self._lines) for name in line.split(", "))
        found = (*self.choices, *_LINE_ASKED.findall(self._lines), *near)
        return frozenset(map(name_of, found)) - {""}

    def listed(self, tag: str) -> list[str]:
        """Return the memories or reflections without times, from lines such as "- [day 1, 4:08 PM] Saw the mill."."""
        lines = self.user.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].splitlines()
        return [line.partition("] ")[2] for line in lines if line.startswith("- [")]

    @_Once
    def people(self) -> list[str]:
        """Return the names of the listed people, from a line such as "People: Ada Lane; Ben Arkwright"."""
        return [name for listed in _PEOPLE.findall(self._lines)[:1] for name in listed.split("; ")]

    @_Once
    def _without_people(self) -> str:
        return _PEOPLE.sub("\nPeople:", self._lines, count=1)

    @_Once
    def asked(self) -> str:
        """Return what the user's message says itself: neither what stands between tags nor the listed people."""
        return _FENCED.sub("", self._without_people)

    @_Once
    def instructions(self) -> str:
        """Return what the prompt says itself."""
        return self.system + self.asked

    @_Once
    def vocabulary(self) -> frozenset[str]:
        """Return the words of the instructions."""
        return frozenset(words(self.instructions))

    @_Once
    def not_names(self) -> frozenset[str]:
        """Return the capitalised words that are not names: the instructions', and any that also occur in lower case."""
        others = (word.capitalize() for word in _LETTERS.findall(self._without_people) if word.islower())
        return frozenset((*_LETTERS.findall(self.instructions), *map(str.capitalize, self.vocabulary), *others))

    @_Once
    def fenced(self) -> str:
        """Return the text between tags, such as "<memories>", without tags and times; "" if there are none."""
        first, last = _FENCE.search(self.user), self.user.rfind("</")
        return "" if first is None or last < first.end() else _MARKUP.sub("", self.user[first.end() : last])


def bare(text: str) -> str:
    """Return a text in lower case without punctuation at its ends and without a leading article."""
    return text.casefold().strip(" " + SPACED + UNSPACED).removeprefix("the ")


def name_of(text: str) -> str:
    """Normalise a name: "the Town_Hall (office)" becomes "townhall", and "Café" becomes "cafe"."""
    letters = normalized(_NO_LETTER.sub("", _TYPE.sub("", bare(text))), "NFKD")
    return letters if letters.isascii() else "".join(c for c in letters if not unicodedata.combining(c))


_CAPITALIZED = re.compile(r"\b[^\W\d_]\w+")  # "I" is not a name
_RUN = re.compile(rf"(?:[^\W_]|[{MARKS}])+")
_LIKE = 1 / 5  # share of a text's words in the instructions, above which it is in their language; of memories half
_ENOUGH = 2  # shared words of content; a name counts for two
_STEM = 4  # letters of a word that are compared; a character of several sounds counts for two
_ASCII_STEM = re.compile(r"(?<![a-z\d])[a-z\d]{4}")  # what `_beginnings` returns, fifteen times as fast
_LONGEST = 4 * _STEM  # characters of a beginning, with the marks on its letters, which are not compared
_HEAVY = re.compile("[\u30a1-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")


def is_about(text: str, shown: Iterable[str], content: PromptContent, *, least: int = 0) -> bool:
    """Return whether a text is about the shown texts or people, or cannot be compared with them.

    The character's own name does not count, nor does what the instructions say about the character.

    Args:
        least: the words of content from which a text is compared.
    """
    shown, said = list(filter(None, shown)), _stems(text)
    if not shown or not said:
        return True
    own = said - _known_stems(content.system) - _stems(content.asked)
    if len(own) < least:
        return True
    enough = 1 if _HEAVY.search(text) else _ENOUGH  # two such characters are a word of content, or a name
    missing = min(enough, max(1, len(own)))
    shared: set[str] = set()
    for one in shown:  # most answers share enough with the first
        shared |= own & _stems(one)
        if len(shared) >= missing:
            return True
    missing -= len(shared)
    told = " ".join(shown)
    if _script(text) != _script(told):
        return True
    if _is_like(text, _LIKE, content) is not _is_like(told, _LIKE / 2, content):
        return True
    names = _names(text, content) & _names(" ".join((told, *content.people)), content)
    names.update(person for person in content.people if person == person.lower() and person in text)  # no capitals
    return _ENOUGH * len(names) >= missing


def _is_like(text: str, least: float, content: PromptContent) -> bool:
    said = words(text)
    return sum(len(word) > 1 and word in content.vocabulary for word in said) > least * len(said)


def _script(text: str) -> str:
    """Return the script of most letters of a text, as Unicode names it; Japanese is written in Chinese ones too."""
    if text.isascii():  # most texts are, and each character of others costs a look-up of its name
        return "LATIN" if any(map(str.isalpha, text)) else ""
    scripts = Counter[str]()
    for char, times in Counter(text).items():
        if char.isalpha():
            scripts[unicodedata.name(char, "").partition(" ")[0]] += times
    most = max(scripts, key=scripts.__getitem__, default="")
    return "CJK" if most in ("HIRAGANA", "KATAKANA") else most


def _stems(text: str) -> set[str]:
    """Return the beginnings of words, and in scripts without spaces all that may be one."""
    if text.isascii():
        return {*_ASCII_STEM.findall(text.casefold())}
    return {stem for run in _RUN.findall(text.casefold()) for stem in _beginnings(run)}


_known_stems = lru_cache(maxsize=16)(_stems)  # the jobs of a kind have the same instructions


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

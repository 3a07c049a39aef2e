"""The parts of a prompt that rules compare with an answer, each extracted once and only if a rule needs it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property
from itertools import takewhile

from cogitate.memory.language.sentences import SPACED, UNSPACED
from cogitate.memory.language.text import words
from cogitate.tasks.kind import Prompt

_FORM = "with JSON only"  # the end of a repair
_ASKED = re.compile(r"You (?:decide|plan|reflect) (?:for|as) ([^,.]+)")  # the beginning of built-in prompts
_NEAR = re.compile(r"Near(?: [^:]+)?: (.+)")
_PEOPLE = "People (id: name):\n"
_FENCE = re.compile(r"^</?\w+>$", re.MULTILINE)
_MARKUP = re.compile(r"^</?\w+>$|^- \[[^\[\]]*\] ", re.MULTILINE)
_FENCED = re.compile(r"^<(\w+)>$.*?^</\1>$", re.MULTILINE | re.DOTALL)
_LETTERS = re.compile(r"[^\W\d_]+")
_NO_LETTER = re.compile(r"[\W_]+")
_TYPE = re.compile(r" \([^()]*\)$")


class PromptContent:
    """The content of one prompt. Its parts are lists of lines and names, without the template's markup."""

    def __init__(self, prompt: Prompt) -> None:
        self.system = prompt.system
        self.user = prompt.user
        self.built_in = prompt.built_in
        self.choices_of = {one.field: one.choices for one in prompt.constraints if one.choices}

    @cached_property
    def choices(self) -> frozenset[str]:
        """Return the values that the answer's fields may be chosen from."""
        return frozenset(choice for choices in self.choices_of.values() for choice in choices)

    @cached_property
    def lower(self) -> str:
        """Return the prompt in lower case, without the description of the answer's format."""
        return self.user.replace(_FORM, "").lower()

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names of the character, of those near it and of the choices, each as `name_of` returns it."""
        found = [*self.choices]
        for line in self.user.split("\n"):
            if line.startswith("You ") and (asked := _ASKED.match(line)) is not None:
                found.append(asked[1])
            elif line.startswith("Near") and (near := _NEAR.match(line)) is not None:
                found.extend(near[1].split(", "))
        return frozenset(map(name_of, found)) - {""}

    @cached_property
    def memories(self) -> list[str]:
        """Return the memories without times, from lines such as "- [day 1, 4:08 PM] Saw the mill."."""
        return _without_times(_between(self.user, "memories"))

    @cached_property
    def reflections(self) -> list[str]:
        """Return the character's earlier conclusions without times, from lines like those of memories."""
        return _without_times(line for line in _between(self.user, "reflections") if line.startswith("- ["))

    @cached_property
    def people(self) -> list[str]:
        """Return the names of the listed people, from lines such as "- agent:ben: Ben Arkwright"."""
        return [line.rpartition(": ")[2] for line in self._lines_of_people]

    @cached_property
    def _without_people(self) -> str:
        return self.user.replace("\n".join(self._lines_of_people), "")

    @cached_property
    def _lines_of_people(self) -> list[str]:
        listed = self.user.partition(_PEOPLE)[2].splitlines()
        return [*takewhile(lambda line: line.startswith("- "), listed)]

    @cached_property
    def instructions(self) -> str:
        """Return what the prompt says itself: neither what stands between tags nor the listed people."""
        return self.system + "\n" + _FENCED.sub("", self._without_people)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Return the words of the instructions."""
        return frozenset(words(self.instructions))

    @cached_property
    def not_names(self) -> frozenset[str]:
        """Return the capitalised words that are no name to take up: the instructions', and any that occur otherwise."""
        others = (word.capitalize() for word in _LETTERS.findall(self._without_people) if word.islower())
        return frozenset((*_LETTERS.findall(self.instructions), *map(str.capitalize, self.vocabulary), *others))

    @cached_property
    def fenced(self) -> str:
        """Return the text between tags, such as "<memories>", without tags and times; "" if there are none."""
        first, last = _FENCE.search(self.user), self.user.rfind("</")
        return "" if first is None or last < first.end() else _MARKUP.sub("", self.user[first.end() : last])


def bare(text: str) -> str:
    """Return a text in lower case without punctuation at its ends and without a leading article."""
    return text.casefold().strip(" " + SPACED + UNSPACED).removeprefix("the ")


def name_of(text: str) -> str:
    """Normalise a name: "the Town_Hall (office)" becomes "townhall", and "Café" becomes "cafe"."""
    letters = _NO_LETTER.sub("", _TYPE.sub("", bare(text)))
    if letters.isascii():
        return letters
    return "".join(c for c in unicodedata.normalize("NFD", letters) if not unicodedata.combining(c))


def _between(text: str, tag: str) -> list[str]:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].splitlines()


def _without_times(lines: Iterable[str]) -> list[str]:
    return [line.partition("] ")[2] for line in lines]

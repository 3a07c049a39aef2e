"""Notes of what a talk was about, as recorded agents keep them of themselves and of others, told as one sentence.

"Ada Smith is conversing about a conversation between Ada Smith and Bo about goats" is "Ada Smith and Bo talked about
goats".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from cogitate.memory.language.text import FUNCTION_WORDS, words

_IS_TALKING = re.compile(r" (?:is|are) conversing about ")
#: Before it stand words for a talk and who has it, after it what the talk is about.
_ABOUT = re.compile(r"\b(?:about|discuss(?:ing|es)?|revolves around)\s+")
_OF_TALK = FUNCTION_WORDS | frozenset(
    words("conversation conversing talk talking discussion dialogue chat two friends people individuals named")
)
_AMONG = re.compile(r",? (?:between|with|among) (?P<who>[^.]{1,120}?)\.?$")
_WORD = re.compile(r"\w+")


def retold(note: str, names: Iterable[str], doers: Collection[str]) -> str:
    """Return a note of a talk as one sentence about all who talked; any other text as it is.

    Args:
        names: of all whom the note may name.
        doers: the names of those who are known to have talked.
    """
    found = _IS_TALKING.search(note)
    if found is None or note[: found.start()] not in doers:
        return note
    gist, talking = note[found.end() :], set(doers)
    named, topic = _without_people(gist, _meant(names))
    tellers = sorted(named if len(named) > 1 else talking | named)
    who = " and ".join([", ".join(tellers[:-1]), tellers[-1]] if len(tellers) > 1 else tellers)
    return f"{who} talked about {topic}"


def _without_people(gist: str, called: Mapping[str, str]) -> tuple[set[str], str]:
    """Return who talks by the words of a note, and what remains of these."""
    named: set[str] = set()
    while (found := _ABOUT.search(gist)) and (head := _all_people(gist[: found.start()], called)) is not None:
        named, gist = named | head, gist[found.end() :]
    among = _AMONG.search(gist)
    tail = _all_people(among["who"], called) if among else None
    return (named | tail, gist[: among.start()]) if among and tail else (named, gist)


def _all_people(text: str, called: Mapping[str, str]) -> set[str] | None:
    """Return who is named by a text that holds nothing but names and words for a talk; None for another."""
    found = _WORD.findall(text)
    if any(word not in called and word.lower() not in _OF_TALK for word in found):
        return None
    return {name for word in found if (name := called.get(word))}


def _meant(names: Iterable[str]) -> dict[str, str]:
    """Return who is meant by each word of the names: one whose name all others contain; "" for no one in particular."""
    having: dict[str, list[str]] = {}
    for name in names:
        for word in _WORD.findall(name):
            having.setdefault(word, []).append(name)
    shortest = {word: min(found, key=len) for word, found in having.items()}
    return {word: one if all(one in name for name in having[word]) else "" for word, one in shortest.items()}

"""Notes of what a talk was about, as recorded agents keep them of themselves and of others, told as one sentence.

"Ada Smith is conversing about a conversation between Ada Smith and Bo about goats" is "Bo and I talked about goats".
A note whose topic names the owner, or begins with "their", is quoted: to retell it takes more than a rule knows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from cogitate.memory.language.endings import has_end, with_end
from cogitate.memory.language.text import FUNCTION_WORDS, words
from cogitate.memory.language.truncation import shorten
from cogitate.memory.summaries.conversations import format_list
from cogitate.tasks.heuristics.promises import MOST_QUOTED

_IS_TALKING = re.compile(r" (?:is|are) conversing about ")
#: Before it stand words for a talk and who has it, after it what the talk is about.
_ABOUT = re.compile(r"\b(?:about|discuss(?:ing|es)?|revolves around)\s+")
_OF_TALK = FUNCTION_WORDS | frozenset(
    words("conversation conversing talk talking discussion dialogue chat two friends people individuals named")
)
_AMONG = re.compile(r",? (?:between|with|among) (?P<who>[^.]{1,120}?)\.?$")


def retold(note: str, owner: str, parties: Collection[str], texts: Iterable[str], names: Iterable[str]) -> str:
    """Return a note of a talk as its owner tells it; any other text as it is.

    Args:
        owner: its name.
        parties: the names of whom the note is about.
        texts: what the owner noted, among which may be the same note of another who talked.
        names: of all people.
    """
    who, gist = _split(note)
    people = set(names)
    if who not in people:
        return note
    called = _people_by_word(people)
    others = (set(parties) & people) - {owner}
    talking = {other for text in texts for other, same in [_split(text)] if same.startswith(gist)} & people | {who}
    talking |= others if who == owner and len(others) == 1 else set()
    named, topic = _without_people(gist, called)
    if named and named != {owner}:
        talking = named
    tellers = [*sorted(talking - {owner}), *(["I"] if owner in talking else [])]
    names_owner = any(called.get(word) == owner for word in re.findall(r"\w+", topic))
    if names_owner or (owner in talking and (named == {owner} or topic.startswith("their "))):
        return f"{format_list(tellers)} talked: {quoted(gist.rstrip('.'))}."
    return ended(f"{format_list(tellers)} talked about {topic}")


def quoted(text: str) -> str:
    """Return a text of at most `MOST_QUOTED` characters between quotation marks."""
    return '"' + shorten(text, MOST_QUOTED).replace('"', "'") + '"'


def ended(text: str) -> str:
    """Return a sentence of at most `MOST_QUOTED` characters with a mark at its end."""
    text = shorten(text, MOST_QUOTED)
    return text if has_end(text) else with_end(text)


def _split(text: str) -> tuple[str, str]:
    """Return who talks and about what; two empty strings for what is no note of a talk."""
    found = _IS_TALKING.search(text)
    return (text[: found.start()], text[found.end() :]) if found else ("", "")


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
    found = re.findall(r"\w+", text)
    if any(word not in called and word.lower() not in _OF_TALK for word in found):
        return None
    return {name for word in found if (name := called.get(word))}


def _people_by_word(people: Iterable[str]) -> dict[str, str]:
    """Return who is meant by each word of their names; "" by one that several have."""
    called: dict[str, str] = {}
    for name in people:
        for word in re.findall(r"\w+", name):
            called[word] = name if called.get(word, name) == name else ""
    return called

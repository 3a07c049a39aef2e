"""An owner's notes and what it heard, as they are told later.

Activities get the past tense, missing subjects are added, speech is quoted with who told whom, and the speaker's name
replaces "I". Notes of talks are rewritten: "Ada Smith is conversing about a conversation between Ada Smith and Bo about
goats" becomes "Ada Smith and Bo talked about goats".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from cogitate.memory.clock import on_date
from cogitate.memory.language.english.grammar import is_past
from cogitate.memory.language.quotations import without_quotations
from cogitate.memory.language.sentences import QUESTIONS, all_of
from cogitate.memory.language.tables import english
from cogitate.memory.language.talk import Doers
from cogitate.memory.language.text import FUNCTION_WORDS, words

_I = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine)\b")
_ACTIVITY = re.compile(r"\w+ing\b")
#: A deed, without a pronoun that may refer to its doer.
_OWN_DEED = re.compile(r"([a-z]+)\b(?!.*\b(?:he|she|they|him|her|them|his|hers|their|theirs)\b).*", re.DOTALL)
_ONLY_PAST = english("only_past")
_OPENS_OBJECT = english("opens_object")
_YOU, _MY = re.compile(r"\b(?:you|yourself)\b", re.I), re.compile(r"\bmy\b", re.I)
_I_AM, _I_WILL = re.compile(r"\bI(?:['’]m| am)\b"), re.compile(r"\bI(?:['’]ll| will)\b")
_ME = re.compile(r"\bme\b", re.I)
_IS_TALKING = re.compile(r" (?:is|are) conversing about ")
#: It separates the words for a talk and its participants from its topic.
_ABOUT = re.compile(r"\b(?:about|discuss(?:ing|es)?|revolves around)\s+")
_OF_TALK = FUNCTION_WORDS | frozenset(
    words("conversation conversing talk talking discussion dialogue chat two friends people individuals named")
)
_AMONG = re.compile(r",? (?:between|with|among) (?P<who>[^.]{1,120}?)\.?$")
_NAME_WORD = re.compile(r"\w+")
#: The opening of a state or a finding, after the name of who has it.
_STATE = re.compile(
    r"(?:am|are|is|was|were|ha(?:ve|s|d)|needs?|must|lacks?|cannot|f[io]nds?|found|s[ae]ws?|sees?|hears?|heard|notice[sd]?|"
    r"discover(?:s|ed)|count(?:s|ed)|loses?|lost)\b"
)


def tells_state(rest: str) -> bool:
    """Return whether the words after a name tell of a state or a finding of who has it rather than of a deed."""
    return _STATE.match(rest) is not None


def says_i(text: str) -> bool:
    """Return whether a text calls the one who wrote it "I", outside quotation marks."""
    return _I.search(without_quotations(text)) is not None


def noted(sentence: str, me: str, name: str, names: Collection[str], doers: Doers) -> str:
    """Return a note as it is told later: "Ada Smith is baking" as "Ada Smith was baking".

    Args:
        me: how to call its owner: "I", or its name.
        name: the owner's name, by which a summary calls it.
    """
    if (talk := _talked(sentence, names, doers)) != sentence:
        return talk
    told = with_subject(sentence, me)
    if me != name and (own := _OWN_DEED.match(told.removeprefix(f"{name} "))) and told.startswith(f"{name} "):
        told = f"{me} {own[0]}" if is_past(own[1]) and name not in own[0] else told
    told = told.replace(f' told {name}: "', f' told {"me" if me == "I" else name}: "')
    who, _, doing = told.partition(" is ")
    if _ACTIVITY.match(doing) and who in names:
        told = f"{who} was {doing}"
    return f"{told[:1].upper()}{told[1:]}"


def quoted(said: str, speaker: str, listener: str, is_mine: bool, minute: int | None) -> str:
    """Return what was said with who said it to whom, and with the day of a game time."""
    said, day = said.replace('"', "'"), "" if minute is None else f" {on_date(minute)}"
    verb = "asked" if said.endswith(QUESTIONS) else "told"
    act = f"{verb} {listener}" if listener else "asked" if verb == "asked" else "said"
    return f'{"I" if is_mine else speaker} {act}{day}: "{said}"'


def with_subject(text: str, subject: str) -> str:
    """Return an observation with the subject that it leaves out: "Saw a cat" becomes "Ada saw a cat"."""
    text = text.replace(" engaged in an activity: ", " ")
    first, _, rest = text.partition(" ")
    if subject and rest and _has_subject_left_out(first.lower(), rest):
        return f"{subject} {first[:1].lower()}{first[1:]} {rest}"
    return text


def _has_subject_left_out(first: str, rest: str) -> bool:
    """Return whether a text opens with a verb whose subject is left out: "Lost the key", but not "Lost child found"."""
    following = "".join(rest.split(maxsplit=1)[:1]).lower()
    return first in _ONLY_PAST - {"was"} or (is_past(first) and following in _OPENS_OBJECT)


@lru_cache(maxsize=32_768)  # of appointments, which are read again by each heuristic
def heard(text: str, speaker: str, listener: str) -> str:
    """Return what another said as its listener tells it: with the speaker's name for "I", and for "you".

    To see "you" is to see the speaker. Without a `listener`, "you" stays.
    """
    text = _I_AM.sub(lambda _: f"{speaker} is", text)
    text = _I_WILL.sub(lambda _: f"{speaker} will", text)
    text = _MY.sub(lambda _: f"{speaker}'s", text)
    text = _ME.sub(lambda _: speaker, text)
    return _YOU.sub(lambda _: speaker, text) if listener else text


def _talked(note: str, names: Iterable[str], doers: Doers) -> str:
    """Return a note of a talk as one sentence about all who talked; any other text unchanged.

    Args:
        names: all names that the note may mention.
        doers: finds the names of those who are known to have talked.
    """
    found = _IS_TALKING.search(note)
    if found is None or note[: found.start()] not in (talking := doers()):
        return note
    gist = note[found.end() :]
    named, topic = _without_people(gist, _meant(names))
    tellers = sorted(named if len(named) > 1 else {*talking, *named})
    return f"{all_of(tellers)} talked about {topic}"


def _without_people(gist: str, called: Mapping[str, str]) -> tuple[set[str], str]:
    """Return the participants that a note of a talk names, and the rest of the note."""
    named: set[str] = set()
    while (found := _ABOUT.search(gist)) and (head := _all_people(gist[: found.start()], called)) is not None:
        named, gist = named | head, gist[found.end() :]
    among = _AMONG.search(gist)
    tail = _all_people(among["who"], called) if among else None
    return (named | tail, gist[: among.start()]) if among and tail else (named, gist)


def _all_people(text: str, called: Mapping[str, str]) -> set[str] | None:
    """Return the people named in a text of nothing but names and words for a talk; None for any other text."""
    found = _NAME_WORD.findall(text)
    if any(word not in called and word.lower() not in _OF_TALK for word in found):
        return None
    return {name for word in found if (name := called.get(word))}


def _meant(names: Iterable[str]) -> dict[str, str]:
    """Return the name that each word of the names means: the one that all others contain; "" if ambiguous."""
    having: dict[str, list[str]] = {}
    for name in names:
        for word in _NAME_WORD.findall(name):
            having.setdefault(word, []).append(name)
    shortest = {word: min(found, key=len) for word, found in having.items()}
    return {word: one if all(one in name for name in having[word]) else "" for word, one in shortest.items()}

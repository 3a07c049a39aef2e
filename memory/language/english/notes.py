"""What an owner noted or heard, as it tells it later: activities in the past, and speech quoted with who told whom."""

from __future__ import annotations

import re
from collections.abc import Collection

from cogitate.memory.clock import on_date
from cogitate.memory.language.endings import QUESTIONS
from cogitate.memory.language.english.own_view import in_own_words

_ACTIVITY = re.compile(r"\w+ing\b")
_DOING = re.compile(r"^I am (?=\w+ing\b)")  # when it was observed, not now
#: Recorded agents note what they talk about with who talks about it: "Ada is conversing about Ada and Bo are …".
_TALK = re.compile(
    r"(?P<who>[\w'’ ]{1,60}) (?:is|are) conversing about (?:conversing about )?(?P<gist>\w.*)", re.DOTALL
)
_WHOLE = re.compile(r"This is a conversation\b|The conversation\b|[\w'’ ]{1,60} (?:is|are) conversing ")
_DOERS = re.compile(r"(?P<who>(?:(?!discussing\b)[\w'’,]+ ){1,12})(?=discussing\b)")


def noted(sentence: str, name: str, names: Collection[str]) -> str:
    """Return a note as the one called `name` tells it: "Ada Smith is baking" as "I was baking"."""
    sentence = _retold_talk(sentence, name, names)
    told = in_own_words(sentence, name, names)
    return _DOING.sub("I was ", told) if told != sentence else _of_others(told, names)


def quoted(said: str, speaker: str, listener: str, is_mine: bool, minute: int | None) -> str:
    """Return what was said with who said it to whom, and with the day of a game time."""
    said, day = said.replace('"', "'"), "" if minute is None else f" {on_date(minute)}"
    verb = "asked" if said.endswith(QUESTIONS) else "told"
    act = f"{verb} {listener}" if listener else "asked" if verb == "asked" else "said"
    return f'{"I" if is_mine else speaker} {act}{day}: "{said}"'


def _of_others(told: str, names: Collection[str]) -> str:
    """Return what another was seen doing as it is told later: "Ada is baking" as "Ada was baking"."""
    who, _, doing = told.partition(" is ")
    is_activity = _ACTIVITY.match(doing) is not None and who in names
    return f"{who} was {doing}" if is_activity else told


def _retold_talk(text: str, name: str, names: Collection[str]) -> str:
    """Return a note of what a talk was about as a sentence: "Ada and Bo discussing goats" with its verb.

    Who is noted to talk is told only where the note itself has no subject.
    """
    found = _TALK.fullmatch(text) if " conversing about " in text else None
    if found is None:
        return text
    gist, who = found["gist"], found["who"]
    if _WHOLE.match(gist):
        return gist
    doers = _DOERS.match(gist)
    if doers:
        named = doers["who"].replace(",", "").split()
        known = {word for one in names for word in one.split()}
        if known.issuperset(word for word in named if word != "and"):
            return f"{doers['who']}{'were' if 'and' in named else 'was'} {gist[doers.end() :]}"
    return f"{'I' if who == name else who} talked about {gist}"

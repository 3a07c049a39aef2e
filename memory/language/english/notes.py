"""What an owner noted or heard, as it tells it later: activities in the past, and speech quoted with who told whom."""

from __future__ import annotations

import re
from collections.abc import Collection

from cogitate.memory.clock import on_date
from cogitate.memory.language.endings import QUESTIONS, has_end, with_end
from cogitate.memory.language.english.own_view import in_own_words
from cogitate.memory.language.english.talk_notes import retold

_ACTIVITY = re.compile(r"\w+ing\b")
_DOING = re.compile(r"^I am (?=\w+ing\b)")  # when it was observed, not now

_YOU = re.compile(r"\byou(?: are| were|['’]re)?(?![\w'’])", re.IGNORECASE)
_I = {"You are": "I am", "You're": "I am", "You’re": "I am", "You were": "I was"}
_YOUR = re.compile(r"\byour(self)?\b")


def noted(sentence: str, name: str, names: Collection[str], doers: Collection[str]) -> str:
    """Return a note as the one called `name` tells it: "Ada Smith is baking" as "I was baking".

    One that still names its owner is quoted: it is not certain who does what.
    """
    if (talk := retold(sentence, name, names, doers)) != sentence:
        return talk
    told = in_own_words(_of_oneself(sentence), name, names)
    told = _DOING.sub("I was ", told) if told != sentence else _of_others(told, names)
    if name and name in told:
        return 'I noted: "' + (told if has_end(told) else with_end(told)).replace('"', "'") + '"'
    return f"{told[:1].upper()}{told[1:]}"


def _of_oneself(note: str) -> str:
    """Return a note that addresses its owner as its owner tells it: "You are at your stall" as "I am at my stall"."""
    if not note.startswith("You") or len(_YOU.findall(note)) > 1 or '"' in note:
        return note
    told = _YOU.sub(lambda you: _I.get(you[0], "I"), note)
    return _YOUR.sub(lambda your: f"my{your[1] or ''}", told)


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

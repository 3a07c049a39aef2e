"""What an owner noted or heard, as it is told later: activities in the past, and speech quoted with who told whom."""

from __future__ import annotations

import re
from collections.abc import Collection

from cogitate.memory.clock import on_date
from cogitate.memory.language.endings import QUESTIONS
from cogitate.memory.language.english.grammar import is_past
from cogitate.memory.language.english.own_view import with_subject
from cogitate.memory.language.english.talk_notes import retold
from cogitate.memory.language.quotations import without_quotations

_I = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine)\b")
_ACTIVITY = re.compile(r"\w+ing\b")
#: A deed, without a pronoun that may refer to its doer.
_OWN_DEED = re.compile(r"([a-z]+)\b(?!.*\b(?:he|she|they|him|her|them|his|hers|their|theirs)\b).*", re.DOTALL)


def says_i(text: str) -> bool:
    """Return whether a text calls the one who wrote it "I", outside quotation marks."""
    return _I.search(without_quotations(text)) is not None


def noted(sentence: str, me: str, name: str, names: Collection[str], doers: Collection[str]) -> str:
    """Return a note as it is told later: "Ada Smith is baking" as "Ada Smith was baking".

    Args:
        me: what its owner is called: "I", or its name.
        name: the owner's name, by which a summary calls it.
    """
    if (talk := retold(sentence, names, doers)) != sentence:
        return talk
    told = with_subject(sentence, me)
    if me != name and (own := _OWN_DEED.match(told.removeprefix(f"{name} "))) and told.startswith(f"{name} "):
        told = f"{me} {own[0]}" if is_past(own[1]) and name not in own[0] else told
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

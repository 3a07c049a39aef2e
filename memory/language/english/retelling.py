"""How a summary tells one clause of what was said: in the third person, or as a quote.

A speaker's statement about itself alone ("I lost my job") is told in the third person. Everything else is quoted with
who said it to whom: no rule can tell who "we" and "you" are, or whether a remark argues, warns or praises.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cogitate.memory.language.english.address import clean
from cogitate.memory.language.english.grammar import has_verb, is_adverb
from cogitate.memory.language.english.persons import third_person
from cogitate.memory.language.english.references import leans_on_something
from cogitate.memory.language.sentences import has_end, with_end
from cogitate.memory.language.talk import Speech, Talk
from cogitate.memory.language.text import FUNCTION_WORDS, WHITE_SPACE
from cogitate.memory.language.truncation import ELLIPSIS

_CUT = re.compile(r"^\s*(?:-{1,3}|[–—…])|(?:-|[–—])[\"'”’]?\.?$")
#: The end of a sentence that is quoted: it stays as it was said.
_QUOTED_END = re.compile('[.!?…]["”“»]$')
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"[\w']+")
_DIGIT = re.compile(r"\d")
_MARKS = WHITE_SPACE + "!?.…,;:'-"
_CLOSING_QUOTES = '”"»)]'
_I = re.compile(r"\bI\b")
_OTHERS = re.compile(r"\b(?:we|us|our|ours|ourselves|you|your|yours|yourself|ya)\b|[\"“„«]", re.IGNORECASE)


def retold(clause: str, speech: Speech, talk: Talk) -> str:
    """Return a clause as a sentence of a summary; "" if it is not worth telling, or unclear what it means."""
    if (clause.endswith(ELLIPSIS) or not speech.fluent) and _is_cut_short(clause):
        return ""
    if speech.speaker:
        return _said(clause, speech, talk)
    return clause if _QUOTED_END.search(clause) else _ended(clause[:1].upper() + clause[1:])


def is_cut_off(sentence: str) -> bool:
    """Return whether a sentence begins or ends with a dash, as one does that a speaker or another broke off."""
    return _CUT.search(sentence) is not None


def _said(clause: str, speech: Speech, talk: Talk) -> str:
    """Return the clause in the third person or as a quote; "" if it says nothing by itself."""
    speaker, speakers = speech.speaker, talk.speakers
    text = clean(clause)
    asks = text.endswith("?")
    if is_cut_off(clause) or (asks and not _DIGIT.search(text)):  # one with a time or a number may be a proposal
        return ""
    lowered = [word.lower() for word in _TOKEN.findall(text)]
    others = (word for word in _WORD.findall(text) if word not in speakers)
    is_specific = asks or any(word in talk.names or _DIGIT.search(word) for word in others)
    if not is_specific and (not has_verb(lowered) or leans_on_something(text)):
        return ""
    named = any(map(speakers.is_part_of_name, lowered))  # "I am Ada", "I sold it, Ada"
    if talk.in_english and speech.fluent and _is_of_oneself(text, lowered) and not named:
        return _ended(third_person(text, speaker))
    listener = speech.listener or speakers.other_than(speaker)
    return talk.quoted(speech.quote, speaker, listener, False, speech.minute)


def _is_of_oneself(text: str, lowered: Sequence[str]) -> bool:
    """Return whether a text is a statement about its speaker alone, so that others may tell it in the third person.

    It opens with "I" or "my", says "I" but once and no "we" or "you", and denies nothing, which others may contest.
    "I'd" may be "I had" or "I would", and "I 'm" is no verb.
    """
    if any(low in ("not", "never") or low.endswith(("n't", "'d")) or low[0] == "'" for low in lowered):
        return False
    first = next((low for low in lowered[:4] if not is_adverb(low)), "")
    if lowered[0] != "my" and first.partition("'")[0] not in ("i", "im"):
        return False
    return not _OTHERS.search(text) and len(_I.findall(text)) <= (lowered[0] != "my")


def _is_cut_short(clause: str) -> bool:
    """Return whether a clause that a limit cut says nothing: "Maud is glad that...", "Maud Fenwick..."."""
    said = [w.lower() for w in _TOKEN.findall(clause)]
    return not has_verb(said) or said[-1] in FUNCTION_WORDS


def _ended(text: str) -> str:
    """Return the text with a full stop in place of its final marks; one closing quote or bracket among them stays."""
    if has_end(text) and text[-1] not in _MARKS + _CLOSING_QUOTES:  # with the mark of another script
        return text
    bare = text.rstrip(_MARKS)
    if not bare or bare[-1] not in _CLOSING_QUOTES:
        return with_end(bare)
    return f"{bare[:-1].rstrip(_MARKS)}{bare[-1]}."

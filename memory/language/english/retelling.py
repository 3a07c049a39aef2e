"""How a summary tells one clause of what was said: in the third person, or as a quote.

What a speaker tells of itself alone ("I lost my job") is told in the third person. Everything else is quoted with who
said it to whom: who is meant by "we" and "you", and whether a remark argues, warns or praises, no rule can tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from cogitate.memory.language.english.address import clean, without_own_name
from cogitate.memory.language.english.courtesies import is_small_talk
from cogitate.memory.language.english.grammar import SAME_PAST, has_verb, is_adverb, word_set
from cogitate.memory.language.english.persons import pronouns_of, third_person
from cogitate.memory.language.english.references import leans_on_somebody, leans_on_something
from cogitate.memory.language.entities import is_number
from cogitate.memory.language.sentences import has_end, with_end
from cogitate.memory.language.tables import english
from cogitate.memory.language.talk import Speech, Talk
from cogitate.memory.language.text import FUNCTION_WORDS, WHITE_SPACE
from cogitate.memory.language.truncation import ELLIPSIS

_CUT = re.compile(r"^\s*(?:-{1,3}|[–—…])|(?:-|[–—])[\"'”’]?\.?$")
_FEWEST = 3  # words of what is told of somebody: fewer are mostly words broken off
_LEAST_FRAGMENT = 5  # words of what is no clause, unless it answers a question
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"[\w']+")
_DIGIT = re.compile(r"\d")
_MARKS = WHITE_SPACE + "!?.…,;:'-"
_CLOSING_QUOTES = '”"»)]'
_REQUESTS = english("requests")
_CONNECTIVE = re.compile(r"^(?:(?:and|but|or|however|anyway|so(?! (?:many|much|few|far|long)\b))\b,? )+", re.IGNORECASE)
#: Sentences that no rule retells: with an apparent form of address at the end ("I swear it, my queen."), and gestures.
_CALLS = re.compile(r", (?:my |you )?[a-z]{3,}[.!]*$|^here(?:['’]s| is| are)\b", re.IGNORECASE)
#: A word that was broken off: "I th think".
_BROKEN_WORD = re.compile(r"(?<![\w'’.-])(?<!\d )[b-df-hj-np-tvwxz]{1,3}(?![\w'’.-])")
_OPINIONS = word_set("think thought believe guess suppose mean know hope feel wonder say")
_I = re.compile(r"\bI\b")
_MINE = re.compile(r"\b(?:me|my|mine|myself)\b")
_OTHERS = re.compile(r"\b(?:we|us|our|ours|ourselves|you|your|yours|yourself|ya)\b|[\"“„«]", re.IGNORECASE)


def retold(clause: str, speech: Speech, talk: Talk) -> str:
    """Return a clause as a sentence of a summary; "" if it is not worth telling, or unclear what it means."""
    if (clause.endswith(ELLIPSIS) or not speech.fluent) and _is_cut_short(clause):
        return ""
    if speech.speaker:
        return _said(clause, speech, talk)
    return clause if clause.endswith('?"') else _ended(clause[:1].upper() + clause[1:])


def is_cut_off(sentence: str) -> bool:
    """Return whether a sentence begins or ends with a dash, as one does that a speaker or another broke off."""
    return _CUT.search(sentence) is not None


def _said(clause: str, speech: Speech, talk: Talk) -> str:
    """Return the clause in the third person or as a quote; "" if it says nothing by itself."""
    speaker, speakers = speech.speaker, talk.speakers
    addressed = [name for name in speakers.perhaps_in(clause) if name != speaker]
    text = without_own_name(_CONNECTIVE.sub("", clean(clause, addressed)), speaker)
    lowered = [word.lower() for word in _TOKEN.findall(text)]
    is_hour = speech.answers and any(map(is_number, lowered))  # "Ten, then."
    if is_cut_off(clause) or (len(lowered) < _FEWEST and not is_hour) or is_small_talk(text, speakers):
        return ""
    asks = text.endswith("?")
    if asks and not _DIGIT.search(text):  # one with a time or a number may be a proposal
        return ""
    clausal = lowered[0] in _REQUESTS or has_verb(lowered)
    if not asks and not clausal and not speech.answers and len(lowered) < _LEAST_FRAGMENT:
        return ""
    named = (
        asks
        or is_hour
        or any(word in talk.names or _DIGIT.search(word) for word in _WORD.findall(text) if word not in speakers)
    )
    if not named and (not clausal or leans_on_something(text)):
        return ""
    if talk.in_english and speech.fluent and _is_of_oneself(text, lowered, speaker) and not leans_on_somebody(text):
        return _ended(third_person(text, speaker))
    listener = speech.listener or speakers.other_than(speaker)
    return talk.quoted(speech.quote, speaker, listener, False, speech.minute)


def _is_of_oneself(text: str, lowered: Sequence[str], speaker: str) -> bool:
    """Return whether a text is a statement about its speaker alone, so that others may tell it in the third person.

    It opens with "I" or "my", says "I" but once and no "we" or "you", and tells no opinion. It denies nothing, since
    others may contest what a speaker denies.
    """
    first = next((low for low in lowered[:4] if not is_adverb(low)), "")
    if lowered[0] != "my" and first.partition("'")[0] not in ("i", "im"):
        return False
    if any(sign.search(text) for sign in (_CALLS, _BROKEN_WORD, _OTHERS)) or not has_verb(lowered):
        return False
    if len(_I.findall(text)) > (lowered[0] != "my"):
        return False
    if any(low in ("not", "never") or low.endswith("n't") for low in lowered):
        return False
    if any(one.endswith("'d") and after in SAME_PAST for one, after in pairwise(lowered)):  # "had put", or "would put"
        return False
    if not _OPINIONS.isdisjoint(lowered):
        return False
    verb = next((word for word in lowered[1:] if not is_adverb(word)), "")
    if lowered[0] == "i" and verb in FUNCTION_WORDS and not has_verb([verb]):  # "I more"
        return False
    further = _MINE.search(text, len(lowered[0]))  # "Ada met her at her mill": whose?
    return not (further and {*pronouns_of(speaker)} & {*lowered})


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

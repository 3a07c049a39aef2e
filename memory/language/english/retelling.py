"""How a summary tells one clause of what was said: in the third person, or as a quote.

Speech is told in the third person where it is certain who is meant by "I", "we", "you" and "they". Everything else is
quoted, if it has a name or a figure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from cogitate.memory.language.english.address import clean, without_own_name
from cogitate.memory.language.english.courtesies import is_small_talk
from cogitate.memory.language.english.grammar import SAME_PAST, STATES, has_verb, is_adverb, is_past
from cogitate.memory.language.english.persons import pronouns_of
from cogitate.memory.language.english.references import leans_on_somebody, leans_on_something
from cogitate.memory.language.english.reported import is_denial, is_request, third_person
from cogitate.memory.language.english.reported import is_english as is_english_clause
from cogitate.memory.language.entities import is_number
from cogitate.memory.language.sentences import has_end, with_end
from cogitate.memory.language.tables import english
from cogitate.memory.language.talk import Speech, Talk
from cogitate.memory.language.text import BASE_FORMS, FUNCTION_WORDS, WHITE_SPACE
from cogitate.memory.language.truncation import ELLIPSIS

_CUT = re.compile(r"^\s*(?:-{1,3}|[–—…])|(?:-|[–—])[\"'”’]?\.?$")
_FEWEST = 3  # words of what is told of somebody: fewer are mostly words broken off
_LEAST_FRAGMENT = 5  # words of what is no clause, unless it answers a question
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"[\w']+")
_DIGIT = re.compile(r"\d")
_MARKS = WHITE_SPACE + "!?.…,;:'-"
_CLOSING_QUOTES = '”"»)]'
_VOW = re.compile(r"^I promise[,:]? (?:that )?I(?:'ll| will) ", re.IGNORECASE)
_SUBORDINATE = english("subordinate")
_EXCLAIMS = english("exclaims")
_CONNECTIVE = re.compile(r"^(?:(?:and|but|or|however|anyway|so(?! (?:many|much|few|far|long)\b))\b,? )+", re.IGNORECASE)
#: Sentences that no rule retells: with an apparent form of address at the end ("I swear it, my queen."), and gestures.
_CALLS = re.compile(r", (?:my |you )?[a-z]{3,}[.!]*$|^here(?:['’]s| is| are)\b", re.IGNORECASE)
_VERBS = frozenset(BASE_FORMS.values())
#: A word that was broken off: "I th think".
_BROKEN_WORD = re.compile(r"(?<![\w'’.-])(?<!\d )[b-df-hj-np-tvwxz]{1,3}(?![\w'’.-])")
#: Where "you" stands for several: "you sat together".
_JOINED = re.compile(r"\b(?:together|each other|one another|among yourselves)\b", re.IGNORECASE)
_OPENS_WITH_I = re.compile(r"(?:I|my)\b", re.IGNORECASE)
_I = re.compile(r"\b(?:I|me|my|myself)\b")
_WE = re.compile(r"\b(?:we|us|our|ours|ourselves)\b", re.IGNORECASE)
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_OPENS_WITH_YOU = re.compile(r"you(?:r\b|['’ ](?:have|had|ve|were|did|was)\b)", re.IGNORECASE)


def retold(clause: str, speech: Speech, talk: Talk) -> str:
    """Return a clause as a sentence of a summary; "" if it is not worth telling, or unclear what it means."""
    if (clause.endswith(ELLIPSIS) or not speech.fluent) and _is_cut_short(clause):
        return ""
    text = _said(clause, speech, talk) if speech.speaker else clause
    return text if not text or text.endswith('?"') else _ended(text[0].upper() + text[1:])


def is_cut_off(sentence: str) -> bool:
    """Return whether a sentence begins or ends with a dash, as one does that a speaker or another broke off."""
    return _CUT.search(sentence) is not None


def _said(clause: str, speech: Speech, talk: Talk) -> str:
    """Return the clause as reported speech or as a quote; "" if it says nothing by itself."""
    speaker, speakers = speech.speaker, talk.speakers
    addressed = [name for name in speakers.perhaps_in(clause) if name != speaker]
    text = without_own_name(_CONNECTIVE.sub("", _VOW.sub("I promised to ", clean(clause, addressed))), speaker)
    lowered = [word.lower() for word in _TOKEN.findall(text)]
    is_hour = speech.answers and any(map(is_number, lowered))  # "Ten, then."
    if is_cut_off(clause) or (len(lowered) < _FEWEST and not is_hour):
        return ""
    if text.endswith("?"):  # one with a time or a number may be a proposal
        return _quoted(text, speaker, "asked") if _DIGIT.search(text) else ""
    if is_small_talk(text, speakers):
        return ""
    named = is_hour or any(
        word in talk.names or _DIGIT.search(word) for word in _WORD.findall(text) if word not in speakers
    )
    listener = speech.listener or speakers.other_than(speaker)
    acts = is_request(lowered) or lowered[0] in ("let's", "lets")
    clausal = acts or has_verb(lowered)
    if not clausal and not speech.answers and len(lowered) < _LEAST_FRAGMENT:
        return ""
    if not named and (not clausal or leans_on_something(text)):
        return ""
    certain = speech.fluent and clausal and not leans_on_somebody(text) and (acts or _is_sentence(text, lowered))
    if certain and _are_persons_certain(text, lowered, speaker, listener, alone=len(speakers.names) <= 2):
        return third_person(text, speaker, listener, talk.names)
    return _quoted(text, speaker) if named or not _YOU.search(text) else ""


def _is_sentence(text: str, lowered: Sequence[str]) -> bool:
    """Return whether a text is a statement with a subject, as far as its words show."""
    if _CALLS.search(text) or _BROKEN_WORD.search(text) or text.count('"') % 2 or not is_english_clause(text):
        return False
    if lowered[0] in _EXCLAIMS or (lowered[0] in _SUBORDINATE and "," not in text):
        return False
    if lowered[0] in _VERBS or lowered[0] in STATES or is_past(lowered[0]):  # a request, or without a subject
        return False
    if any(one.endswith("'d") and after in SAME_PAST for one, after in pairwise(lowered)):  # "had put", or "would put"
        return False
    if lowered[0] == "i":
        verb = next((word for word in lowered[1:] if not is_adverb(word)), "")
        return verb not in FUNCTION_WORDS or has_verb([verb])  # not "I more"
    return has_verb(lowered)


def _are_persons_certain(text: str, lowered: Sequence[str], speaker: str, listener: str, *, alone: bool) -> bool:
    """Return whether it is certain who is meant by each "I", "we" and "you" when they become third persons.

    `alone`: nobody but the two was there, so that they are "we". "You" may be anybody where the speaker does not appear
    beside it.
    """
    if "yourself" in lowered or _JOINED.search(text) or (_WE.search(text) and not alone):
        return False
    if is_request(lowered):
        return bool(listener) and "you" not in lowered
    opens = _OPENS_WITH_I.match(text)
    further = _I.search(text, opens.end() if opens else 0)
    if _YOU.search(text) and not (listener and (opens or further or _OPENS_WITH_YOU.match(text))):
        return False
    mine = pronouns_of(speaker)
    if mine.plural and opens and is_denial(lowered):  # "said that they never did": who?
        return False
    if further and mine.plural and (not opens or _WE.search(text)):
        return False
    return not (further and {*mine[:-1]} & {*lowered})


def _quoted(text: str, speaker: str, verb: str = "said") -> str:
    """Return what was said, with who said it. Of the quotation marks within, only pairs stay."""
    marks = iter("‘’" * (text.count('"') // 2))
    said = re.sub('"', lambda _: next(marks, ""), text).strip()
    return f'{speaker} {verb} "{said[0].upper()}{said[1:]}"'


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

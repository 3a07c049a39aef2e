"""Certainty in English: whether a sentence asserts something of the one who remembers it, or leaves it open."""

from __future__ import annotations

import re

from cogitate.memory.language.english.clauses import split_clauses
from cogitate.memory.language.packs import Pack
from cogitate.memory.language.quotations import without_quotations
from cogitate.memory.language.tables import read_table
from cogitate.memory.language.times import find_times

WORDS = Pack(read_table("english"))
#: A condition, except one that only asks politely: "if you like".
_CONDITION = re.compile(
    r"\b(?:if(?! (?:you (?:like|want|wish|can|please|are free|have time|do(?:n['’]t| not) mind)|you['’]re free))|"
    r"unless|in case|provided|as long as|whether|maybe|perhaps|possibly|might|[Ww]ould have)\b|(?-i:\bmay\b)(?! \d)",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|never|nobody|neither|nor)\b(?! (?:to )?(?:forget|be late|miss|worry|only|later|until|before))|"
    r"n['’]t\b(?! (?:forget|be late|miss|worry|wait|we|you))|\bcannot\b(?! wait)|\bno longer\b",
    re.IGNORECASE,
)
#: Words that call an appointment off.
_CANCELLED = re.compile(
    r"\b(?:cancel\w*|call(?:s|ed|ing)? (?:\w{1,30} ){0,4}off|(?:is|are|was|were|being) (?:called )?off|"
    r"postpone[sd]?|put (?:it )?off|fell through|not (?:happening|taking place)|no longer|any ?more|"
    r"(?:can(?:not|['’]t)|wo(?:n['’]t)|will not|could(?: not|n['’]t)|would(?: not|n['’]t)) "
    r"(?:come|make it|be (?:there|able)|meet|join|attend))\b",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"\b(?:refuse[sd]?|decline[sd]?|reject(?:s|ed)?|turn(?:s|ed)? \w+ down|(?:said|say|says|answered|replied) no|"
    r"told \w+ no|(?:did not|didn['’]t|never) (?:agree|accept|promise|want)|no time|"
    r"(?:I|we) (?:can(?:not|['’]t)|won['’]t|will not|could(?: not|n['’]t)|would(?: not|n['’]t))"
    r"(?= (?:go|do)\b|[.,;!\"]|$))",
    re.IGNORECASE,
)
_NO = re.compile(r"^(?:[Oo]h,? |[Ww]ell,? )?no\b(?! (?:problem|worries|trouble|doubt))", re.IGNORECASE)
_MOVED = re.compile(
    r"\b(?:move[sd]?|shift(?:s|ed)?|reschedule[sd]?|postpone[sd]?|put off|brought forward|delayed|instead)\b",
    re.IGNORECASE,
)
_TALE = re.compile(
    r"\b(?:told|tells|recited|recites|sang|sings|heard|read)\b[^.!?]{0,40}\b(?:story|tale|legend|fable|myth|ballad|poem|joke)\b|"
    r"\b(?:story|tale|legend|fable|myth|ballad|novel) (?:of|about|that|in which|where)\b|"
    r"\bin (?:a|an|the|my|his|her) (?:story|tale|legend|dream|novel|film|play)\b|"
    r"\bdream(?:s|ed|t)\b|\bonce upon a time\b|\b(?:imagin|pretend)\w*",
    re.IGNORECASE,
)
_LONG_AGO = re.compile(
    r"(?<!the )(?<!our )\blast (?:year|month|week|spring|summer|autumn|fall|winter)\b|"
    r"\b(?:years?|months?|weeks?|ages) ago\b|\bwhen (?:I|we) (?:was|were)\b|\bas a child\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"\?[\"'”’»)\]]*+$")
_ACCEPTED = re.compile(r"\b(?:accept(?:ed)?|agree[sd]?|said yes|gladly|promised?)\b", re.IGNORECASE)
_NAME = r"[A-Z][\w'’-]{0,40}(?: [A-Z][\w'’-]{0,40}){0,2}"
_WHO = rf"(?:{_NAME}|[Hh]e|[Ss]he|[Tt]hey|[Tt]he \w{{1,40}})"
#: Others who agree, promise, ask or mean to do something.
_OTHERS = re.compile(
    rf"(?:^|(?<!because)(?<!since)(?<!as)[\s\"“])(?P<who>{_WHO}(?P<more>(?:,|,? and) {_WHO}){{0,3}}) "
    r"(?:(?:ha[sd]|have|will|both|also) ){0,2}(?:promise[sd]?|agree[sd]?|arrange[sd]?|plan(?:s|ned)?|want(?:s|ed)?|"
    r"hope[sd]?|intend(?:s|ed)?|decide[sd]?|swore|swears?|vow(?:s|ed)?|ask(?:s|ed)?|told|beg(?:s|ged)|"
    r"(?:is|are) going|meets?|visits?|helps?|joins?|have|see)\b"
)
#: A report to the one who remembers it, whom hearing it does not make a party.
_HEARING = re.compile(
    r"\b(?:I|we) (?:\w+ )?(?:heard|know|knew|learnt|learned|saw|overheard|read|think|believe|noticed)\b|"
    r"\b(?:told|tells|informed|reminded|wrote|said|says|mentioned)(?: to)? (?:me|us)\b(?! to\b)",
    re.IGNORECASE,
)
_PARTY = re.compile(r"\b(?:I|me|my|mine|myself|we|us|our|you|your|let['’]s)\b", re.IGNORECASE)
_PROPER = re.compile(r"(?<!\bat )(?<!\bin )\b[A-Z][\w'’-]*+(?: [A-Z][\w'’-]*+)*|\bthe \w+(?= )", re.ASCII)
_PRONOUNS = frozenset({"He", "he", "She", "she", "They", "they"})
_UNPROMISED = re.compile(r"(?:\bnot|n['’]t|\bnever) promised?\b", re.IGNORECASE)
_TELLER = re.compile(
    r"[^.!?\"]{1,40}? (?:told|tells|informed|said|says|wrote|mentioned)(?: to)?(?: \w+)?? ?"
    r"(?:that\b|:|(?=\b(?:the|our|my|tomorrow|he|she|they|I|we)\b))"
)


def is_open(sentence: str) -> bool:
    """Return whether a sentence asks, denies, doubts, refuses or tells of what is long past or invented."""
    if any(cue.search(sentence) for cue in (_CONDITION, _REFUSED, _CANCELLED, _LONG_AGO, _TALE)):
        return True
    if _QUESTION.search(sentence) and not _ACCEPTED.search(sentence):
        return True
    return any(_NEGATION.search(clause) and find_times(clause) for clause in split_clauses(sentence))


def is_refusal(sentence: str) -> bool:
    """Return whether a sentence refuses or calls off what the one before it proposes."""
    return _REFUSED.search(sentence) is not None or is_called_off(sentence)


def is_called_off(sentence: str) -> bool:
    """Return whether a sentence calls an appointment off, or moves it to another hour."""
    return _CANCELLED.search(sentence) is not None or is_moved(sentence)


def is_moved(sentence: str) -> bool:
    """Return whether a sentence moves an appointment to another hour."""
    return _MOVED.search(sentence) is not None and bool(find_times(sentence))


def is_intent(sentence: str) -> bool:
    """Return whether a statement is about its speaker, and no question, denial, doubt or cancellation."""
    denied = any(cue.search(sentence) for cue in (_NEGATION, _CONDITION, _CANCELLED, _REFUSED))
    return not denied and not sentence.endswith("?") and WORDS.says("own", sentence)


def declines(sentence: str) -> bool:
    """Return whether a sentence refuses what another proposed before it, or leaves it open."""
    cues = (_NO, _NEGATION, _REFUSED, _CANCELLED, _LONG_AGO, _TALE)
    listed = WORDS.says("declines", sentence) or WORDS.says("puts_off", sentence)
    return listed or any(cue.search(sentence) for cue in cues)


def tells_trouble(sentence: str) -> bool:
    """Return whether a sentence tells that something is broken, missing or in danger, and not that it is mended."""
    return WORDS.tells_trouble(sentence) and not WORDS.tells_done(sentence)


def is_tale(sentence: str) -> bool:
    """Return whether a sentence opens a story or a dream, to which the rest of its text belongs."""
    return _TALE.search(sentence) is not None


def is_vain(sentence: str) -> bool:
    """Return whether what a sentence promises was promised long ago, in a story or a dream, or not at all."""
    return any(cue.search(sentence) for cue in (_LONG_AGO, _TALE, _UNPROMISED))


def is_of_others(sentence: str, place: str) -> bool:
    """Return whether a sentence tells what others agree with one another; `place` is the place it names, or ""."""
    found = _OTHERS.search(sentence)
    if found is None:
        return False
    outside = without_quotations(sentence)
    said = sentence if outside == sentence or _HEARING.search(outside) else outside
    if _PARTY.search(_HEARING.sub(" ", said)):
        return False
    others = {name[0] for name in _PROPER.finditer(sentence, found.end()) if name[0] not in place} - {found["who"]}
    return bool(found["more"] or others or found["who"] in _PRONOUNS)


def subject_of(sentence: str) -> str:
    """Return a sentence without the words that name its teller: what it calls off."""
    return _HEARING.sub(" ", sentence) if (found := _TELLER.match(sentence)) is None else sentence[found.end() :]

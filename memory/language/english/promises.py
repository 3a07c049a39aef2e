"""Promises in English: how they are given and told of, and how a text tells what came of them."""

from __future__ import annotations

import re
from functools import lru_cache

from cogitate.memory.language.commitments import Outcome, Vow, are_alike
from cogitate.memory.language.english.certainty import is_vain
from cogitate.memory.language.english.grammar import is_past, past_of
from cogitate.memory.language.english.notes import with_subject
from cogitate.memory.language.text import stem, stems
from cogitate.memory.language.times import anchor_days, find_times

_NAME = r"[A-ZА-Я][\w'’-]{0,40}(?: [A-ZА-Я][\w'’-]{0,40}){0,2}"
#: "I promise: I will …", "I promise to …", "I'll … for you, I promise"
_VOW = re.compile(
    r"\bI(?: do)? (?:promise|swear|vow)(?: you)?\b[,:]?\s*(?:that )?(?:I(?:['’]ll| will)|to)\s(?P<deed>[^.!?;]{3,160})"
    r"|\bI(?:['’]ll| will) (?P<before>[^.!?;]{3,160}?), I (?:promise|swear)\b",
    re.I,
)
_TOLD = re.compile(
    rf"\b(?P<giver>I|{_NAME}|[Tt]he \w{{1,40}}) (?:had |has |have )?promise[sd] "
    rf"(?:(?P<taker>me|{_NAME}) )?to (?P<deed>[^.!?;]{{3,160}})"
)
_PROMISING = re.compile(r"promis|swear|vow", re.I)  # every match of `_VOW` and `_TOLD` contains one of these
_KEPT = re.compile(
    r"\bkept (?:my|his|her|their|your|the|a) (?:word|promise|oath|vow)|\bmade good on\b|"
    r"\bas (?:I |you |he |she |they )?(?:had )?promised\b",
    re.I,
)
_BROKEN = re.compile(
    r"\bI (?:completely |totally |simply )?forgot\b|\byou forgot\b|\bdid(?: you not|n['’]t you) promise\b|"
    r"\bbroke (?:my|his|her|their|your|the|a) (?:word|promise|oath|vow)|\b(?:did not|didn['’]t|never) (?:keep|kept)\b|"
    r"\byou promised\b.*\bbut\b|\bforgot (?:my|his|her|their|your) promise\b|"
    r"\bhad promised\b[^.!?;]*, (?:and|but|yet) (?:did(?: not|n['’]t)|never|forgot|failed|broke|kept silent)\b|"
    r"\bthough (?:it|this|that) had been promised\b",
    re.I,
)
_GIVER = re.compile(r"\b(?:(?P<me>I|my)|you|your)\b", re.I)
_CONDITION = re.compile(r"\b(?:if|unless|in case|maybe|perhaps|might|whether)\b", re.I)
#: Before the verb of a deed that was done, or was not: "did not mend", "forgot to mend".
_DID = re.compile(r"\b(?:did(?: not| never|n['’]t)?|(?:failed|forgot|refused|declined|managed) to) $")
#: A deed that was left undone.
_UNDONE = re.compile(
    r"\b(?:did|has|have|had|was|were)(?: not|n['’]t)\b|\b(?:never|nobody|no one)\b|"
    r"\b(?:failed|fails|forgot|refused|declined) to\b",
    re.I,
)
#: What is not, or not yet, or only wished.
_UNREAL = re.compile(
    r"n['’]t\b|\b(?:no|not|never|nobody|none|fail(?:s|ed)?|forgot|refused?|declined|wants?|wanted|wish(?:es|ed)?|hopes?|"
    r"hoped|plans?|planned|will|would|shall|should|must|may|might|can|could|needs?|needed|going to|to be|voted?|"
    r"promise[sd]?|until|before|when|once)\b",
    re.I,
)
#: The time when a deed is due, which is no part of the deed.
_WHEN = re.compile(
    r"\b(?:(?:on|by|until|before) )?(?:the \w{1,20} of )?(?:day \d{1,6}|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.I,
)
_WORD = re.compile(r"[^\W\d_]+")
#: The subject of what follows, except names that "and" joins to another.
_SUBJECT = re.compile(r"\b(?:I|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|[Yy]ou|who|[A-ZА-Я][\w'’-]*)(?![\w'’-])")
_TOGETHER = re.compile(rf"(?:,|,? and|,? with) {_NAME}")
_NEAR = 100  # characters between who does something and the verb


def may_vow(text: str) -> bool:
    """Return whether a text has a word of promising."""
    return _PROMISING.search(text) is not None


def tells_outcome(text: str) -> str:
    """Return who kept or broke a promise by a text that says so in so many words: "I", "you", or "?" for another."""
    found = _KEPT.search(text) or _BROKEN.search(text)
    who = _GIVER.search(found[0]) if found else None
    return ("I" if who["me"] else "you") if who else "?" if found else ""


def outcome(sentence: str) -> Outcome:
    """Return the outcome of a promise that a sentence tells."""
    if _BROKEN.search(sentence) or _UNDONE.search(sentence):
        return "broken"
    return "kept" if _KEPT.search(sentence) or not _UNREAL.search(sentence) else ""


def find_vow(sentence: str, spoken: bool) -> Vow | None:
    """Return the promise that a speaker gives with a sentence, or else the one that a sentence tells of.

    Args:
        spoken: somebody says the sentence.
    """
    if is_vain(sentence):
        return None
    if spoken and (given := _VOW.search(sentence)) and not _CONDITION.search(sentence):
        return Vow("I", "", given["deed"] or given["before"] or "", True)
    told = _TOLD.search(sentence)
    if told is None or _BROKEN.search(sentence):
        return None
    return Vow(told["giver"], told["taker"] or "", told["deed"], False)


def is_account(sentence: str, deed: str, giver: str, by_giver: bool) -> bool:
    """Return whether a sentence tells that the giver did a deed, or did not.

    Args:
        by_giver: the giver tells it, so that "I" is the giver.
    """
    if sentence.endswith("?") or not are_alike(deed_words(deed), _stems(sentence)) or _CONDITION.search(sentence):
        return False
    text = with_subject(sentence, "I") if by_giver else sentence
    wanted = _stems(deed)
    for word in _WORD.finditer(text):
        low = word[0].lower()
        if word.start() == 0 or stem(low) not in wanted:
            continue
        is_done = is_past(low) or past_of(low) == low or _DID.search(text, max(0, word.start() - 24), word.start())
        if is_done and _does(giver, by_giver, text[max(0, word.start() - _NEAR) : word.start()]):
            return True
    return False


def _does(giver: str, by_giver: bool, before: str) -> bool:
    """Return whether the giver, or anybody if it is "", is the subject of the verb after the text `before`."""
    if not giver:
        return True
    called = re.escape(giver[4:]) if giver.startswith(("The ", "the ")) else re.escape(giver)
    for mention in re.finditer(rf"\b(?:{called}{'|I' if by_giver else ''})(?![\w'’-])", before):
        if not _SUBJECT.search(_TOGETHER.sub("", before[mention.end() :])):
            return True
    return False


@lru_cache(maxsize=32_768)  # each is compared with many
def _stems(text: str) -> frozenset[str]:
    return frozenset(stems(text))


@lru_cache(maxsize=16_384)
def deed_words(deed: str) -> frozenset[str]:
    """Return the stems of a deed without those of the day and the hour at which it is due."""
    undated = _WHEN.sub("", anchor_days(deed, 0))
    for time in reversed(find_times(undated)):
        undated = undated[: time.start] + undated[time.end :]
    return frozenset(stems(undated))

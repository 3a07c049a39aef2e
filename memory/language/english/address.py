"""What is left of a sentence without greetings, interjections and forms of address."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.language.talk import beginning_of, folded, forms_of

_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_SPACE = re.compile(r"\s+")
_CALL = (
    r"(?:oh|ah|wow|whoa|woah|yeah|yes|yep|yup|yay|no|nah|nope|ok|okay|well(?! done)|hey|hi|hello|bye|hmm|haha|ha|aw|"
    r"aww|ugh)"
)
_POLITE = (
    r"(?:thanks|thank you|thx|congrats|congratulations|sorry|good morning|good night|cool|great|nice|awesome|sure)"
)
_TITLE = r"(?:captain|doctor|sir|madam|ma'am|boss|mum|mom|dad|officer|professor|dear|darling|my friend|old friend)"
_TITLE_AT_START = re.compile(rf"^{_TITLE}[,!] ", re.IGNORECASE)
_TITLE_AT_END = re.compile(rf", {_TITLE}(?=[.!?…]*+$)", re.IGNORECASE)
_OPENING = re.compile(
    rf"^(?:{_CALL}\b[,.!\s]*|what a (?:pity|shame|surprise|relief)[,.!\s]+|"
    r"(?:and|but|plus|also|anyway|by the way|btw|guess what|tell me)\b[,.!\s]+|"
    rf"(?:{_POLITE}|man|totally|definitely|absolutely|exactly|right|so|actually|honestly|of course|for sure|"
    r"unfortunately|hopefully|you know|i mean)\b(?:[,.!]+\s*|\s+(?=(?:I|we|my|our)\b)))+",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:,\s++(?:right|you know|thanks|thank you(?: for asking)?)|(?:,|(?<!\s))\s++(?:btw|by the way|lol|haha|huh))"
    r"(?=[.!?…]*+$)",
    re.IGNORECASE,
)


def clean(sentence: str, addressed: Iterable[str] = ()) -> str:
    """Return the sentence without emoji, interjections around it, and the names of those it is `addressed` to."""
    text = _SPACE.sub(" ", _EMOJI.sub("", sentence).replace("’", "'")).strip()
    low = folded(text)
    for name in addressed:
        if beginning_of(name) in low:
            address = _address(name)
            text = address.at_end.sub("", text)
            text = address.at_start.sub(r"\1", text)
            text = address.after_call.sub(r"\1,", text)
            text = address.before_mark.sub("", text)
            text = address.amid.sub(", ", text)
    text = _TITLE_AT_END.sub("", _TITLE_AT_START.sub("", text))
    shorter = _CLOSING.sub("", _OPENING.sub("", text, count=1)).strip()
    return shorter if re.search(r"\w", shorter) else text


def without_own_name(text: str, speaker: str) -> str:
    """Return a sentence without the speaker's introduction: "I am Ada, I bake" becomes "I bake"."""
    for opening in (f"I am {speaker}, ", f"I'm {speaker}, ", f"My name is {speaker}, "):
        if text.startswith((f"{opening}I ", f"{opening}and I ")):
            return text[len(opening) :].removeprefix("and ")
        if text.startswith(opening):
            return f"I am {text[len(opening) :]}"
    own = text.removeprefix(f"{speaker}, ")
    return f"I am {own}" if own != text and own.startswith(("a ", "an ", "the ")) else text


class _Address(NamedTuple):
    """A person's name and its position in a sentence with single spaces."""

    at_end: re.Pattern[str]
    at_start: re.Pattern[str]
    after_call: re.Pattern[str]
    before_mark: re.Pattern[str]
    amid: re.Pattern[str]


@lru_cache(maxsize=1_024)
def _address(name: str) -> _Address:
    forms = "|".join(re.escape(form) for form in forms_of(name))
    return _Address(
        re.compile(rf",\s*(?:{forms})\s*(?=[.!?…]+$)"),
        re.compile(rf"^((?:(?:{_CALL}|{_POLITE})[,!]?\s+)*)(?:{forms})\s*[,!]\s*", re.IGNORECASE),
        re.compile(rf"^({_CALL}|{_POLITE})\s+(?:{forms})\b", re.IGNORECASE),
        re.compile(rf",\s*(?:{forms})(?=[:;])"),
        re.compile(rf",\s*(?:{forms}),\s*"),
    )

"""Sentences without their greetings and interjections."""

from __future__ import annotations

import re

_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_SPACE = re.compile(r"\s+")
_CALL = (
    r"(?:oh|ah|wow|whoa|woah|yeah|yes|yep|yup|yay|no|nah|nope|ok|okay|well(?! done)|hey|hi|hello|bye|hmm|haha|ha|aw|"
    r"aww|ugh)"
)
_POLITE = (
    r"(?:thanks|thank you|thx|congrats|congratulations|sorry|good morning|good night|cool|great|nice|awesome|sure)"
)
_OPENING = re.compile(
    rf"^(?:{_CALL}\b[,.!\s]*|what a (?:pity|shame|surprise|relief)[,.!\s]+|"
    r"(?:and|but|plus|also|anyway|by the way|btw|guess what|tell me)\b[,.!\s]+|"
    rf"(?:{_POLITE}|man|totally|definitely|absolutely|exactly|right|so|actually|honestly|of course|for sure|"
    r"unfortunately|hopefully|you know|i mean)\b(?:[,.!]+\s*|\s+(?=(?:I|we|my|our)\b)))+",
    re.IGNORECASE,
)


def clean(sentence: str) -> str:
    """Return the sentence without emoji and the interjections that open it."""
    text = _SPACE.sub(" ", _EMOJI.sub("", sentence).replace("’", "'")).strip()
    shorter = _OPENING.sub("", text, count=1).strip()
    return shorter if re.search(r"\w", shorter) else text

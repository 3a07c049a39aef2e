"""Speech as it was said, without what a transcript adds: stage directions, fillers, restarts and loose marks."""

from __future__ import annotations

import re

from cogitate.memory.language.languages import is_english

_WITHIN = r"[^\[\]{}<>*()\n]{1,60}"
#: "{disfmarker}", "[click]", "<laugh>", "*waves*", and in round brackets a few words that
#: are in small letters, "(laughter)", or stand as a sentence: "(Aparte.)".
_DIRECTION = re.compile(
    rf"\[{_WITHIN}\]|\{{{_WITHIN}\}}|(?<!\w)<{_WITHIN}>|(?<![\w*])\*(?=\S){_WITHIN}(?<=\S)\*(?![\w*])"
    r"|(?<!\S)@(?!\S)|\([a-z'’-]{1,20}(?: [a-z'’-]{1,20}){0,2}[.!…]?\)"
    r"|(?:^|(?<=[.!?…]\s))\([^\W\d][\w'’-]{0,19}(?: [\w'’-]{1,20}){0,2}[.!…]?\)"
)
#: "{disfmarker}", "[inaudible]": where somebody broke off, or was not heard.
_BREAK = re.compile(
    r"(?<=[\w,'’])\s*+[\[{(<](?:disf\w*|gap|pause|inaudible|unintelligible|crosstalk)[\]})>]", re.IGNORECASE
)
_FILLER = re.compile(
    r"(?<![\w'’-])(?<!\d\s)(?:u+h+(?:\s?-\s?huh)?|u+m+|e+rm+|m+(?:\s?-\s?hm+)|h+m+|mm+|mhm+)(?![\w'’-])(?:\s*[,.…]+(?=\s|$))?",
    re.IGNORECASE,
)
_REPEATED = re.compile(r"\b([a-z]++(?:['’][a-z]++)?+|I)(?:[ ,]++\1\b)++")
#: The marks and endings that tokenised text sets apart: "don 't know ." and "I 'm here , too"
_APART = re.compile(r"(?<=\w)\s++(?=(?:'(?:s|m|d|t|re|ve|ll)|n't)\b)|(?<!\s)\s++(?=[.,?!;:](?:\s|$))", re.IGNORECASE)
_QUOTED_APART = re.compile(r'(?<!\S)"\s++([^"\n]{1,200}?)\s++"(?!\w)')
_LEADING = re.compile(r"^[\s,.;:…]++(?=\S)", re.MULTILINE)
_SPACES = re.compile(r"(?<=\n)\s+|[^\S\n]+")
_BROKEN_OFF = re.compile(r"(?<=\w--)\s++|(?<=\w—)\s++")  # which ends a sentence as a line end does


def without_directions(text: str) -> str:
    """Return what somebody said without stage directions, fillers, repeated words and spaces before marks."""
    if is_english(text):  # "um" and "nous nous" are words of others
        said = _FILLER.sub(" ", _APART.sub("", text))
        said = _DIRECTION.sub(" ", _BREAK.sub("--", said))
        said = _REPEATED.sub(r"\1", _BROKEN_OFF.sub("\n", _QUOTED_APART.sub(r'"\1"', said)))
    else:
        said = _BROKEN_OFF.sub("\n", _DIRECTION.sub(" ", _BREAK.sub("--", text)))
    return text if said == text else _LEADING.sub("", _SPACES.sub(" ", _APART.sub("", said)).strip())

"""Speech as it was said, without what a transcript adds: stage directions and fillers."""

from __future__ import annotations

import re

from cogitate.memory.language.languages import is_english

_WITHIN = r"[^\[\]{}<>*()\n]{1,60}"
#: "{disfmarker}", "[click]", "<laugh>", "<b>not</b>", "*waves*", and in round brackets a few words that
#: are in small letters, "(laughter)", or stand as a sentence: "(Aparte.)".
_DIRECTION = re.compile(
    rf"\[{_WITHIN}\]|\{{{_WITHIN}\}}|(?<!\w)<{_WITHIN}>|(?<![\w*])\*(?=\S){_WITHIN}(?<=\S)\*(?![\w*])"
    r"|</[a-z]{1,20}>|(?<!\S)@(?!\S)|\([a-z'’-]{1,20}(?: [a-z'’-]{1,20}){0,2}[.!…]?\)"
    r"|(?:^|(?<=[.!?…]\s))\([^\W\d][\w'’-]{0,19}(?: [\w'’-]{1,20}){0,2}[.!…]?\)"
)
_FILLER = re.compile(
    r"(?<![\w'’-])(?<!\d\s)(?:u+h+(?:\s?-\s?huh)?|u+m+|e+rm+|m+(?:\s?-\s?hm+)|h+m+|mm+|mhm+)(?![\w'’-])(?:\s*[,.…]+(?=\s|$))?",
    re.IGNORECASE,
)
_SPACES = re.compile(r"(?<=\n)\s+|[^\S\n]+")
_GAP = "\0"
_GAP_BEFORE_MARK = re.compile(f"(?<!{_GAP})(?<!{_GAP} ) ?{_GAP}(?: ?{_GAP})*+(?=[,.;:!?…])")


def without_directions(text: str) -> str:
    """Return what somebody said without stage directions and, in English, fillers: "um" is a word of others."""
    said = _DIRECTION.sub(_GAP, _FILLER.sub(" ", text) if is_english(text) else text)
    return text if said == text else _SPACES.sub(" ", _GAP_BEFORE_MARK.sub("", said).replace(_GAP, " ")).strip()

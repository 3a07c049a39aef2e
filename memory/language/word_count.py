"""Word counts in any script: the basis of token estimates, and the unit of a summary's length."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from cogitate.memory.language.languages import is_english

LONG = 16  # characters: a longer word counts as several
#: Characters of scripts that write no spaces count as a word each: Thai to Khmer, kana, Han.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")

#: From this code point on, a character takes so many hundredths of a token: between what o200k and cl100k count.
_SCRIPTS = (
    (0x21, 30),
    (0x80, 80),
    (0x370, 60),
    (0x400, 42),
    (0x530, 80),
    (0x590, 60),
    (0x900, 70),
    (0xE00, 65),
    (0xE80, 90),
    (0x3000, 85),
    (0x3100, 90),
    (0xA000, 100),
    (0xAC00, 75),
    (0xD7B0, 100),
)
_STARTS = [start for start, _ in _SCRIPTS]


@lru_cache(maxsize=65_536)  # an owner's entries are counted at every boundary
def count_words(text: str) -> int:
    """Return the words of a text; two texts joined by a space have the sum of both.

    Spaces separate words. Characters of scripts without spaces count as a word each, and a word of more than 16
    characters counts once for every 16 begun.
    """
    if text.isascii():
        return sum(-(-len(piece) // LONG) for piece in text.split())
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return unspaced + sum(-(-len(piece) // LONG) for piece in spaced.split())


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text for a host's own prompt: 1.3 for each word of English, else by script."""
    if is_english(text):
        return -(-count_words(text) * 13 // 10)
    rates = (_SCRIPTS[bisect_right(_STARTS, ord(char)) - 1][1] for char in text if not char.isspace() and char > " ")
    return -(-sum(rates) // 100)

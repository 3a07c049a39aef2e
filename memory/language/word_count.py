"""The words of a text, in any script: what tokens are estimated from, and the room of a summary is measured in."""

from __future__ import annotations

import re
from functools import lru_cache

LONG = 16  # characters: a longer word counts as several
#: Characters of scripts that write no spaces count as a word each: Thai to Khmer, kana, Han.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


@lru_cache(maxsize=65_536)  # an owner's entries are counted at every boundary
def count_words(text: str) -> int:
    """Return the words of a text; two texts joined by a space have the sum of both.

    A word is what stands between spaces. Characters of scripts without spaces count as a word each, and a word of more
    than 16 characters counts once for every 16 begun.
    """
    if text.isascii():
        return sum(-(-len(piece) // LONG) for piece in text.split())
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return unspaced + sum(-(-len(piece) // LONG) for piece in spaced.split())

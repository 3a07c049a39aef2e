"""Scripts that write no spaces between words: kana and Han, and Thai to Khmer."""

from __future__ import annotations

import re

#: Halves of a character class. In Thai to Khmer a mark belongs to the letter before it; in kana and Han there are none.
KANA_AND_HAN = "\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
THAI_TO_KHMER = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
UNSPACED = KANA_AND_HAN + THAI_TO_KHMER

_UNSPACED = re.compile(f"[{UNSPACED}]")


def is_unspaced(char: str) -> bool:
    """Return whether a character belongs to a script that writes no spaces between words."""
    return _UNSPACED.match(char) is not None

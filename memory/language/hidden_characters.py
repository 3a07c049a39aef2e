"""Invisible characters: those that a script needs stay; those that only hide or reorder text can be replaced.

Invisible characters can carry text to a model that people do not see, and bidirectional controls change the order of
display. Unicode names them (Default_Ignorable_Code_Point). Several scripts need some:

* a joiner or non-joiner beside a character beyond ASCII: Persian, Hindi, families of emoji
* a variation selector after what it varies: emoji, ideographs, Mongolian
* a mark of direction in a text that has a letter written from right to left: Arabic, Hebrew
* the tags of a region after a black flag: the flag of Wales
* a filler beside a Hangul letter that stands apart: old Korean

Of several in a row one is needed. Observations are stored unchanged; prompts omit hidden characters, and commands
escape them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Container, Iterator

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")  # without line feed and tab
_SUPPLEMENT = "\U000e0100-\U000e01ef"  # variation selectors of ideographs
_RUN = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_SELECTED = re.compile(  # a selector, after what it can vary
    "[0-9#*\x80-\U0010ffff][\ufe00-\ufe0f]|[\u1800-\u18aa][\u180b-\u180f]|"
    f"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][{_SUPPLEMENT}]"
)
_REGION = re.compile("\U0001f3f4([\U000e0061-\U000e007a\U000e0030-\U000e0039]{3,6}\U000e007f)")
_JOINERS = frozenset("\u034f\u200c\u200d")
_MARKS = frozenset("\u061c\u200e\u200f")
_FILLERS = frozenset("\u115f\u1160")
_JAMO = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")
_RIGHT_TO_LEFT = re.compile(  # letters, and no mark
    "[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def replace_hidden(text: str, instead: Callable[[str], str]) -> str:
    """Return the text with each hidden character replaced, except those that its script needs."""
    if text.isascii():
        return text
    turned = _RIGHT_TO_LEFT.search(text) is not None

    def written(found: re.Match[str]) -> str:
        needed = set(_needed(found, _MARKS if turned else ()))
        return "".join(char if at in needed else instead(char) for at, char in enumerate(found[0]))

    return _RUN.sub(written, text)


def without_hidden(text: str) -> str:
    """Return the text without hidden characters."""
    return replace_hidden(text, lambda _: "")


def is_blank(text: str) -> bool:
    """Return whether a text is invisible: only white space, invisible characters and marks without a letter."""
    if "!" <= text[:1] <= "~":  # as nearly all texts begin
        return False
    return not any(_is_seen(char) for char in text)


def _is_seen(char: str) -> bool:
    if char.isascii():
        return char.isprintable() and char != " "
    unseen = _RUN.match(char) is not None or char == "\u2800"  # a pattern of braille without a dot
    return not unseen and unicodedata.category(char)[0] not in "MZ" and not _CONTROLS.match(char)


def visible(text: str) -> str:
    r"""Return the text with each character that hides text or would control a terminal escaped, as "\x1b"."""
    return _written_out(text, lambda char: char.encode("unicode_escape").decode())


def visible_json(line: bytes) -> bytes:
    r"""Return an equal line of JSON with such characters escaped, as "\u001b" or "\u202e"."""
    return _written_out(line.decode(), lambda char: json.dumps(char)[1:-1]).encode()


def _written_out(text: str, escaped: Callable[[str], str]) -> str:
    return replace_hidden(_CONTROLS.sub(lambda found: escaped(found[0]), text), escaped)


def _needed(found: re.Match[str], marks: Container[str]) -> Iterator[int]:
    """Yield which of several invisible characters in a row their neighbours need."""
    run, start, end = found[0], found.start(), found.end()
    before, after = found.string[max(start - 1, 0) : start], found.string[end : end + 1]
    if (region := _REGION.match(before + run)) is not None:
        yield from range(len(region[1]))
        return
    if _SELECTED.match(before + run[0]) is not None:
        yield 0
    joins = not (before.isascii() and after.isascii())
    fills = any(_JAMO.match(one) for one in (before, after))
    for wanted, may in ((_JOINERS, joins), (marks, True), (_FILLERS, fills)):
        if may and (at := next((at for at, char in enumerate(run) if char in wanted), None)) is not None:
            yield at

"""The text that a response holds, in the encodings and shapes in which endpoints give it."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping

_CHARSET = re.compile(r"charset=\"?([\w-]{1,40})", re.IGNORECASE)
#: Encodings in which a response may be that says so; others, such as Punycode, take their time or are no encodings.
_ENCODINGS = frozenset({
    "iso8859-1", "iso8859-15", "cp1252", "cp1251", "koi8-r", "gb18030", "gbk", "gb2312", "big5", "shift_jis", "euc_jp",
    "euc_kr",
})  # fmt: skip


def in_utf8(content: bytes, headers: Mapping[str, str]) -> bytes:
    """Return the body of a response in UTF-8, with U+FFFD for what is no character.

    UTF-16 and UTF-32 stay, since readers of JSON know them. Some servers cut a letter in two, where a token ends
    within it; the rest of the answer is as good as any.
    """
    try:
        content.decode()
    except UnicodeDecodeError:
        pass
    else:
        return content
    if json.detect_encoding(content) not in ("utf-8", "utf-8-sig"):
        return content
    named = _CHARSET.search(headers.get("Content-Type", ""))
    return content.decode(_known(named[1]) if named is not None else "utf-8", errors="replace").encode()


def text_of(content: object) -> str:
    """Return a message's content: a string, the joined strings of a list of parts, one part, or an object as JSON."""
    if isinstance(content, list):
        return "".join(map(_text_of_part, content))
    if isinstance(content, dict):
        return _text_of_part(content) if content.get("type") == "text" else json.dumps(content)
    return content if isinstance(content, str) else ""


def _text_of_part(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


def _known(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except LookupError:
        return "utf-8"
    return name if name in _ENCODINGS else "utf-8"

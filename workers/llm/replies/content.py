"""The text of a response, in any of the encodings and shapes that endpoints use."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping

_CHARSET = re.compile(r"charset=\"?([\w-]{1,40})", re.IGNORECASE)
#: Encodings that a response may declare; others, such as Punycode, are slow or not text encodings.
_ENCODING = re.compile("iso8859-15?|cp125[12]|koi8-r|gb18030|gbk|gb2312|big5|shift_jis|euc_jp|euc_kr")


def in_utf8(content: bytes, headers: Mapping[str, str]) -> bytes:
    """Return the body of a response in UTF-8, with U+FFFD for invalid bytes.

    Some servers split a character where a token ends within it; the rest of the answer is still usable.
    """
    if (encoding := json.detect_encoding(content)) not in ("utf-8", "utf-8-sig"):
        return content.decode(encoding, errors="replace").encode()
    try:
        content.decode()
    except UnicodeDecodeError:
        pass
    else:
        return content
    named = _CHARSET.search(headers.get("Content-Type", ""))
    return content.decode(_known(named[1]) if named is not None else "utf-8", errors="replace").encode()


def text_of(content: object) -> str:
    """Return a message's content: a string, the joined strings of a list of parts, one part, or an object as JSON."""
    if isinstance(content, list):
        return "".join(map(_text_of_part, content))
    if isinstance(content, dict):
        return _text_of_part(content) if content.get("type") in ("text", "output_text") else json.dumps(content)
    return content if isinstance(content, str) else ""


def texts_of(message: Mapping[str, object], beside: str) -> tuple[str, str]:
    """Return the text of an answer, and its reasoning.

    Some gateways return the answer as the arguments of a tool call, and some servers report an answer without reasoning
    as reasoning: either is the answer if there is no other.

    Args:
        beside: text beside the message.
    """
    text = text_of(message.get("content")) or beside
    thought = text_of(message.get("reasoning_content") or message.get("reasoning"))
    if "{" not in text and (arguments := arguments_in(message)):
        text = f"{text}\n{arguments}"
    if not text.strip() and thought.strip().startswith("{") and thought.strip().endswith("}"):
        return thought, ""
    return text, thought


def arguments_in(message: Mapping[str, object]) -> str:
    """Return the arguments of the first function that a message calls, or the part of them in a stream's chunk."""
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    called = message.get("function_call")
    if isinstance(first, Mapping) and not first.get("index"):  # parts of a stream have one
        called = first.get("function")
    return text_of(called.get("arguments")) if isinstance(called, Mapping) else ""


def _text_of_part(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


def _known(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except LookupError:
        return "utf-8"
    return name if _ENCODING.fullmatch(name) is not None else "utf-8"

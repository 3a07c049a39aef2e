"""Extraction of JSON objects from a model's text, with cleaned strings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from cogitate.memory.language.hidden_characters import without_hidden

_THOUGHT_BEGINS = re.compile(r"<(?:think(?:ing)?|thought|reasoning)>|\[THINK\]")
_THOUGHT_ENDS = re.compile(
    r"</(?:think(?:ing)?|thought|reasoning)>|\[/THINK\]|"
    r"<\|channel\|>final(?: ?<\|constrain\|>\w+)?<\|message\|>"  # gpt-oss
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_SLIP = re.compile(  # a string is one part; what never ends, ends with the text, so that this takes linear time
    r'("(?:[^"\\]++|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL
)
_MAX_WRAPPED = 3  # objects around an answer that are unwrapped
_MAX_STARTS = 64  # opening braces tried; an answer made of braces must not take quadratic time


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse, strict=False)  # models put line breaks in strings


def json_objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the JSON objects in a model's answer, most likely first: the full text, a code fence, then amid prose.

    NaN and Infinity are not JSON. Strings are cleaned, see `clean`. An object cut off by the end of the text ends the
    search: complete objects inside it are parts of the answer, not the answer. Comments and trailing commas are
    accepted in a text or fence that is one object, and a JSON string that contains JSON is decoded.
    """
    text = _said(_without_thoughts(text).strip().removeprefix("\ufeff"))
    candidates = [text, *(_said(fence.strip()) for fence in _FENCE.findall(text))]
    for candidate in (*candidates, *map(_without_slips, candidates)):
        found = _decode(candidate, 0)
        if found is not None and not candidate[found[1] :].strip():
            yield found[0]
            return
    position = text.find("{")
    for _ in range(_MAX_STARTS):
        if position < 0:
            return
        found = _decode(text, position)
        if found is not None:
            yield found[0]
        elif _breaks_off(text, position):
            return
        position = text.find("{", found[1] if found is not None else position + 1)


def _without_thoughts(text: str) -> str:
    """Return the text without reasoning in tags, in linear time even if a tag never closes.

    Several templates put the opening tag into the prompt, so an answer may have only the closing tag: all text before
    it is reasoning.
    """
    kept, at = [], 0
    while (ends := _THOUGHT_ENDS.search(text, at)) is not None:
        if (begins := _THOUGHT_BEGINS.search(text, at, ends.start())) is not None:
            kept.append(text[at : begins.start()])
        at = ends.end()
    return "".join([*kept, text[at:]])


def _said(text: str) -> str:
    """Decode a text that is one JSON string, since some models encode twice; return any other text unchanged."""
    try:
        said = _decoder.decode(text) if text.startswith('"') else text
    except ValueError:
        return text
    return said.strip() if isinstance(said, str) else text


def _without_slips(text: str) -> str:
    """Remove comments and trailing commas from a text that begins like an object; return any other unchanged."""
    for _ in range(2 if text.startswith(("{", "/")) else 0):  # a comment may follow a trailing comma
        text = _SLIP.sub(lambda found: found[1] or "", text).strip()
    return text


def wrapped_in(value: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield the only object in this one, such as under "answer" or "arguments", then the only object in it, and so on.

    Each may be JSON in a string.
    """
    for _ in range(_MAX_WRAPPED):
        inner = [one for one in map(_object_of, value.values()) if one is not None]
        if len(inner) != 1:
            return
        yield (value := inner[0])


def _object_of(value: object) -> dict[str, object] | None:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        found = _decode(value.strip(), 0)
        return found[0] if found is not None else None
    return value if isinstance(value, dict) else None


def _decode(text: str, start: int) -> tuple[dict[str, object], int] | None:
    try:
        value, end = _decoder.raw_decode(text, start)
        return (clean(value), end) if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        return None


def _breaks_off(text: str, start: int) -> bool:
    """Return whether the JSON that begins here is valid as far as it goes."""
    try:
        _decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return error.pos >= len(text) or error.msg.startswith("Unterminated string")
    except (ValueError, RecursionError):
        pass
    return False


def clean(value: Any) -> Any:
    """Return the JSON value without control characters, hidden ones and lone surrogates in its strings.

    Tabs and line feeds stay. A lone surrogate ("\\ud800") is legal JSON and cannot be written as UTF-8.
    """
    if isinstance(value, str):
        if value.isascii() and value.isprintable():
            return value
        return without_hidden(_CONTROL.sub("", value))
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value

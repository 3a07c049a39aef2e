"""Extracts the JSON objects and lists from a model's text, the last first, and repairs those that are not quite JSON.

A model may think before it answers, inside tags of any name or without tags, and write drafts there. So the last value
that fits the schema is the answer (`cogitate.workers.llm.replies.reading`). These values are drafts:

- one that the text goes on about: in the middle of a sentence, or before other words in a tagged passage;
- one whose preceding tag, label or key, or whose following tag, calls it a draft or a thought. A label or key for a
  thought ("Thought process") may precede the answer if nothing follows it;
- numbered values ("Option 1", "Option 2") if the text goes on after the last;
- values between two lines with the same label ("Thought:").

Nothing after a user's turn counts.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Literal

from json_repair import repair_json

from cogitate.memory.language.hidden_characters import without_hidden

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OPENING = re.compile(r"\{(?=\s*(?:[\"'“”‘`}/#]|\w+\s*[:：]))|\[(?=\s*\{)")  # of an object, or of a list of objects
_TOKEN = re.compile(  # an unclosed string matches up to the end of the text, so this takes linear time
    r'"(?:[^"\\]++|\\.)*+(?:"|(?P<open>\\?\Z))|(?P<opening>[{\[])|[}\]]', re.DOTALL
)
_TAG = re.compile(
    r"</?\w[^<>{}\n]{0,60}>|<[|｜][^<>{}\n]{1,60}>|\[/?[A-Z]{2}[A-Z_ ]*\]|◁[^◁▷\n]{1,40}▷|【[^【】\n]{1,40}】"
)
_NEXT_TURN = re.compile(  # the model writes the user's next message itself
    r"<[|｜]user[|｜]>|<[^<>\n]{1,40}>\s*user\s*[\n<]|^### ?(?:instruction|human|user)\b", re.IGNORECASE | re.MULTILINE
)
_FENCE = re.compile(r"```[\w-]*")
_WITHIN = frozenset(",?，；？、")  # marks after which a sentence goes on, and question marks
_COMMENT = re.compile(r"<!--(?:[^<]|<(?!!--))*?-->|~~\s*[{\[][^~]*~~")  # or a value that is struck out
#: Stems by which tags, labels and keys mark text that is not the answer; all models' templates use English names.
_DRAFTS = "draft|scratch|critique|草稿"
_STEMS = f"(?:{_DRAFTS}|think|thought|reason|analy[sz]|monolog|思考)"
_DRAFT = re.compile(_DRAFTS, re.IGNORECASE)
_THOUGHT = re.compile(_STEMS, re.IGNORECASE)
_THOUGHT_ENDS = re.compile(f"(?:/|end)[^<>]{{0,40}}{_STEMS}|{_STEMS}[^<>]{{0,40}}end", re.IGNORECASE)
_LABEL_END = re.compile(r"[:：](?=\W|\Z)")
_NUMBERED = re.compile(
    r"^[^\w\"]{0,8}([^\W\d_]{2,20}) ?\d{1,3}\b[^\w{]{0,12}(?:json\s{1,4})?\{", re.MULTILINE
)  # "Option 1"
_OPENING_TAGS = 40  # characters before a passage that may contain its name: "<|channel|>analysis<|message|>"
_STEP = re.compile(r"^\W{0,8}([^\W\d_]{2,20})[:：]", re.MULTILINE)  # "Thought:"
_LABEL = 2  # words of the longest label
_WIDE = re.compile(r"(?<=[\"”\]}\d])\s*([：，])(?=\s*[\"“\[{\dtfn-])")
_NO_NUMBER = re.compile(r"(?<=[:,\[\s])-?(?:NaN|Infinity)(?=\s*[,}\]])")
_CURLY_END = re.compile(r"(?<=\")([^\"“”\n]*)”(?=\s*[,}\]:])")
_LEADING_KEY = re.compile(r"\s*\"\w+\"\s*:")
_WHOLE_END = re.compile(r"[}\]\"'”’\d]\s*\Z")  # a value that ends otherwise is cut off
_MAX_WRAPPED = 3  # objects around an answer that are unwrapped
_MAX_STARTS = 64  # openings tried; an answer made of brackets must not take quadratic time
_MAX_REPAIRS = 4  # values repaired in one text
_MAX_REPAIRED, _MAX_REPAIRED_DEPTH = 12_000, 16  # characters and levels; beyond them a repair may take seconds
_MAX_DEPTH = 100  # levels of a value; a deeper one may exhaust its reader's stack
#: Models put line breaks in strings; `int` refuses NaN and Infinity, which are not JSON.
_decoder = json.JSONDecoder(parse_constant=int, strict=False)


def json_values(text: str) -> list[Any]:
    """Return the objects and lists of objects in a text, the last first; see `values_in`."""
    return [value for value, _ in values_in(text)]


def values_in(text: str, *, cut: bool = False) -> list[tuple[Any, bool]]:
    """Return the objects and lists of objects in a model's text, the last first, without drafts and with clean strings.

    Nested values are part of the outer one. An answer that is cut off within a string, or missing after a final colon,
    does not count, and the values before it are drafts. A text that begins with a value may end with a sentence and a
    colon.

    Args:
        cut: whether the text reached its token cap; then only a value at the end of the text is complete.

    Returns:
        Each value, and whether it has all its brackets. Parts of an incomplete value do not count as answers.
    """
    text = _NEXT_TURN.split(_COMMENT.sub("", text), maxsplit=1)[0]
    text = _unescaped(_unescaped(text.strip().removeprefix("\ufeff").lstrip()))  # some are escaped twice
    unfenced = _FENCE.sub("", text).strip()
    if unfenced.endswith((":", "：")) and (not unfenced.startswith(("{", "[")) or _label(unfenced.rpartition("\n")[2])):
        return []
    found: list[tuple[Any, bool, int, int]] = []
    position = repairs = 0
    for _ in range(_MAX_STARTS):
        if (opening := _OPENING.search(text, position)) is None:
            break
        start, lacks = opening.start(), ""
        value, end = _decode(text, start)
        if value is None and repairs < _MAX_REPAIRS:
            text = _CURLY_END.sub(r'\1"', text)
            end, lacks = _end_of(text, start)
            if (again := text.rfind("\n{", start, len(text) if lacks else end) + 1) and _stands_alone(text, again):
                position = again
                continue
            repairs += 1
            if lacks == "text" or (lacks and cut):
                return []
            value = _repaired(text[start:end])
        position = end
        if value is not None:
            found.append((value, not lacks, start, end))
    places = [0, *(place for _, _, *span in found for place in span), len(text)]
    before, rest = text[: places[-2]], text[places[-2] :]
    if _has_words(rest):
        labels = [*_NUMBERED.findall(text), *{*_STEP.findall(before)}, *{*_STEP.findall(rest)}]
        if len(set(labels)) < len(labels):
            return []
    return [
        (clean(value), whole)
        for at, (value, whole, _, end) in reversed([*enumerate(found)])
        if not _is_draft(text, *places[2 * at : 2 * at + 4]) and not (cut and text[end:].strip())
    ]


def _unescaped(text: str) -> str:
    """Undo the escaping of a text as a JSON string or for HTML, and restore a missing first brace."""
    if _LEADING_KEY.match(text):
        return "{" + text
    if '"' not in text:
        return html.unescape(text)
    escaped = text if text.startswith('"') else f'"{text}"' if '\\"' in text else ""
    decoded, end = _decode(escaped, 0)
    return decoded.strip() if isinstance(decoded, str) and end == len(escaped) else text


def _decode(text: str, start: int) -> tuple[Any, int]:
    """Return the value that begins at `start` and its end; None and the next position if it is not JSON."""
    try:
        return _decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start + 1


def _end_of(text: str, start: int) -> tuple[int, Literal["", "brackets", "text"]]:
    """Return where the value that begins at `start` ends, and what it lacks.

    A value without its last brackets ends at the next fence or tag, or with the text.
    """
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token["open"] is not None:
            return len(text), "text"
        if token[0][0] != '"':
            depth += 1 if token["opening"] else -1
            if depth == 0:
                return token.end(), ""
    ends = [found.start() for mark in (_FENCE, _TAG) if (found := mark.search(text, start)) is not None]
    end = min(ends, default=len(text))
    return end, "text" if _WHOLE_END.search(text[:end]) is None else "brackets"


def _stands_alone(text: str, start: int) -> bool:
    """Return whether a JSON value begins at `start` that is not part of a list or an object."""
    value, end = _decode(text, start)
    return value is not None and text[end:].lstrip()[:1] not in tuple(",]}")


def _repaired(text: str) -> Any:
    depths = accumulate((char in "{[") - (char in "}]") for char in text)
    if len(text) > _MAX_REPAIRED or max(depths) > _MAX_REPAIRED_DEPTH:
        return None
    text = _NO_NUMBER.sub("null", _WIDE.sub(lambda mark: ":" if mark[1] == "：" else ",", text))
    text = text.replace('"""', '"') if '"' in text else text.replace("`", '"')
    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict if text[0] == "{" else list) else None


def _is_draft(text: str, ended: int, start: int, end: int, begins: int) -> bool:
    """Return whether a value is a draft: the text goes on about it, or a tag or label marks it.

    Args:
        ended: the end of the previous value.
        begins: the start of the next value.
    """
    opened = max((tag.end() for tag in _TAG.finditer(text, 0, start)), default=0)
    closing = _TAG.search(text, end)
    before = _FENCE.sub("\n", text[max(ended, opened) : start])
    after = _FENCE.sub("\n", text[end : closing.start() if closing is not None else begins])
    if closing is not None and (_has_words(after) or _THOUGHT_ENDS.search(closing[0]) is not None):
        return True
    label = _label(_FENCE.sub("\n", text[ended:start]))
    if _opens_thought(label, is_last=_TAG.search(label) is None and not _has_words(_TAG.sub("", text[end:]))):
        return True
    if not _has_words(before.rpartition("\n")[2]):
        return False
    opening = text[:opened].rpartition("\n")[2][-_OPENING_TAGS:]
    if opened and (closing is not None or _has_words(after) or _opens_thought(opening, is_last=False)):
        return True
    goes_on = after.lstrip(" ;")[:1]
    if goes_on in (".", "。"):  # ends the value's sentence; another one may follow
        return _has_words(after.partition("\n")[0])
    return goes_on.islower() or goes_on in _WITHIN or (goes_on == ")" and before[-1:] != "(")


def _label(before: str) -> str:
    """Return the label at the end of the text before a value, or ""."""
    *above, line = before.split("\n")
    line = _LABEL_END.split(line)[0] if _has_words(line) else next(filter(_has_words, reversed(above)), "")
    return line if len(re.findall(r"\w+", _TAG.sub(" ", line))) <= _LABEL else ""


def _opens_thought(name: str, *, is_last: bool) -> bool:
    """Return whether a tag, label or key marks a value as a draft or, unless it is the last, as a thought."""
    names = _DRAFT if is_last else _THOUGHT
    return names.search(name) is not None and _THOUGHT_ENDS.search(name) is None


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def wrapped_in(value: object) -> Iterator[object]:
    """Yield the only object or list of objects in a value, such as under "answer" or "arguments", then the one inside.

    Each may be JSON in a string, also in a fence. Skips a part whose key marks it as a draft.
    """
    for _ in range(_MAX_WRAPPED):
        if isinstance(value, dict):
            value = [part for key, part in value.items() if not _opens_thought(key, is_last=len(value) == 1)]
        parts = value if isinstance(value, list) else ()
        inner = [part for part in map(_container, parts) if part is not None]
        if len(inner) != 1:
            return
        yield (value := inner[0])


def _container(value: object) -> object:
    text = _FENCE.sub("", value).strip() if isinstance(value, str) else ""
    if text.startswith(("{", "[")):
        value = clean(_decode(text, 0)[0])
    return value if isinstance(value, dict) or (isinstance(value, list) and dict in map(type, value)) else None


def clean(value: Any, levels: int = _MAX_DEPTH) -> Any:
    """Remove control characters, hidden characters and lone surrogates from the strings of a JSON value.

    Tabs and line feeds stay. A lone surrogate ("\\ud800") is legal JSON, but UTF-8 cannot encode it. Objects and lists
    below this many levels become null.
    """
    if isinstance(value, str):
        if value.isascii() and value.isprintable():
            return value
        return without_hidden(_CONTROL.sub("", value))
    if isinstance(value, dict | list) and not levels:
        return None
    if isinstance(value, dict):
        return {clean(key): clean(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item, levels - 1) for item in value]
    return value

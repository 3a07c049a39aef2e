"""Texts as prose: without Markdown marks, code, data and block quotes.

A list is one sentence, with the line that leads to it. Each mark has the same meaning in any language.
"""

from __future__ import annotations

import re
from functools import lru_cache

from cogitate.memory.language.sentences import SPACED, UNSPACED, with_end

_MARKED = re.compile(r"[*_`#>|@\[{\n]|^\s*(?:[-•–+(]|\d{1,3}[.)]\s)")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
#: JSON, XML, a row or rule of a table, and what another said ("> …").
_NO_PROSE = re.compile(
    r"[\[{].{0,4000}[\]}],?|[\]}\[{],?|\"[^\"]{1,80}\"\s*:.*|<[/!?\w].{0,4000}>|\|.*\||[-=*_|:+]{3,}|>.*", re.DOTALL
)
_HEADING = re.compile(r"#{1,6}\s+(?P<what>.+)|(?P<mark>\*\*|__)(?P<bold>.+?)(?P=mark):?")
_ITEM = re.compile(r"(?:[-*•+]|\(?\d{1,3}[.)]|(?i:step \d{1,3}[.:)]))\s+(?:\[[ xX]\]\s+)?(?P<what>\S.*)")
_LONE_ITEM = re.compile(r"^[-•]\s+(?=\S)")
_LINK = re.compile(r"!?\[([^\]\n]{1,200})\]\([^)\s]{1,500}\)")
_STRONG = re.compile(r"(\*\*|__|~~)(?=\S)([^\n]{1,400}?)(?<=\S)\1")
_SPAN = re.compile(r"`([^`\n]{1,400})`")
#: Emphasis within a sentence. Emphasis around a whole text marks an action instead: "*waves*".
_EMPHASIS = re.compile(
    rf"(?<=[^\s{SPACED}{UNSPACED}*] )([*_])(?=[^\s*_])([^*_\n]{{1,80}})(?<=\S)\1(?=[{SPACED},;:]|\s\S)"
)
_HANDLE = re.compile(r"(?<![\w@#/])[@#](?=[^\W\d])")
_BRACKETED = re.compile(r"\(([^()]{20,})\)")
_SEPARATE = "; "


@lru_cache(maxsize=65_536)  # an owner's memories are read again by each heuristic
def prose(text: str) -> str:
    """Return what a text says in sentences; "" for code or data."""
    if _MARKED.search(text) is None:
        return text
    said: list[str] = []
    items: list[str] = []
    lines = [line.strip() for line in _CODE.sub("\n", text).split("\n")]
    lead = ""
    for line in (*filter(None, lines), ""):
        if len(lines) > 1 and (item := _ITEM.fullmatch(line)):
            items.append(item["what"])
            continue
        said += _listed(lead, items) if items else [lead] if lead and _HEADING.fullmatch(lead) is None else []
        lead, items = "" if _NO_PROSE.fullmatch(line) else _LONE_ITEM.sub("", line), []
    whole = "\n".join(said)
    bare = _BRACKETED.fullmatch(whole)
    return _without_marks(bare[1] if bare else whole)


def _listed(lead: str, items: list[str]) -> list[str]:
    """Return the items of a list: unchanged if each is a sentence, or else joined to one after their lead."""
    heading = _HEADING.fullmatch(lead)
    lead = f"{heading['what'] or heading['bold']}:" if heading else lead
    apart = [] if heading or lead.endswith((":", "：")) else [lead]
    if all(item.endswith(tuple(SPACED + UNSPACED)) for item in items):
        return [*(apart if lead else []), *items]
    listed = _SEPARATE.join(item.rstrip(SPACED) for item in items)
    return [*filter(None, apart), with_end(listed if apart else f"{lead} {listed}")]


def _without_marks(text: str) -> str:
    for pattern, said in ((_LINK, r"\1"), (_STRONG, r"\2"), (_SPAN, r"\1"), (_EMPHASIS, r"\2"), (_HANDLE, "")):
        text = pattern.sub(said, text)
    return text.strip()

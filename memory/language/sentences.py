"""Sentences of a text in any script, and the marks that end them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cogitate.memory.language.text import KANA_AND_HAN, WHITE_SPACE

#: Parts of a character class. A mark of the first ends a sentence only before a space or the text's end, others always.
SPACED = ".!?…\u061f\u06d4\u0964\u0965\u0589\u1362\u17d4\u104b"
UNSPACED = "。！？｡"
CLAUSES = re.compile(r"[,;，；、]\s*|\s[–—]\s")  # separators of clauses
QUESTIONS = ("?", "？", "؟", "\u1367", "\u037e", "か。")
_CLOSING = "\"'”’»)\\]」』）”“"  # the last closes German ones
_ENDED = re.compile(rf"[{SPACED}{UNSPACED}][{_CLOSING}]*+$|[{_CLOSING}]$")
_NEEDS_NO_SPACE = re.compile(f"[{UNSPACED}][”’]?$|[」』]$")
_LOOSE = "?？؟,;:、，；：،؛" + WHITE_SPACE
_HAN_LAST = re.compile(f"[{KANA_AND_HAN}]$")
_DANDA_LAST = re.compile("[\u0900-\u09ff]$")  # Devanagari and Bengali
_NO_STOP_LAST = re.compile("[\u0e00-\u0eff]$")  # Thai and Lao: a space, or nothing
#: Words after which a full stop ends no sentence.
_ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "e.g", "i.e", "approx", "dept"}
) | {
    *(
        "godz",
        "tj",
        "np",
        "ul",
        "tzw",
        "örn",
        "bkz",
        "sn",
        "bzw",
        "z.b",
        "d.h",
        "ca",
        "sra",
        "srta",
        "mme",
        "mlle",
        "sig",
    ),
}
_BEFORE_NUMBER = frozenset({"no", "nr", "ok", "nº", "núm", "pág", "str", "art"})
_MAY_END = frozenset({"a.m", "p.m", "etc", "no", "inc"})
#: Marks that may open a quotation in another language close one only before a space: "«Ja.» sagt er", "„Ja.“ sagt er".
_CLOSES = r"(?:[\"'”’)\]]|[ \u00a0\u202f]?»(?=\s|$)|“(?=\s|$))*+"
_END = re.compile(rf"(?<![{SPACED}])[{SPACED}]++{_CLOSES}(?=\s|$)|[{UNSPACED}]++[”」』）]*+|\n++")
#: A quotation after a colon: it belongs to one sentence, however many it contains.
_SAID = re.compile(r"[:：]\s?(?:\"[^\"\n]+\"|“[^“”\n]+”|[„”][^„“”\n]+[“”]|«[^«»\n]+»|「[^「」\n]+」)")
_NO_SPACE = re.compile(r"\S")
_INITIAL = re.compile(r"(?!I)[^\W\d_]\.")  # "J."


def split_sentences(text: str) -> list[str]:
    """Return the trimmed sentences of `text` in order, by the full stops of its script and line ends.

    A quotation after a colon is a part of its sentence.
    """
    found: list[str] = []
    quoted = [match.span() for match in _SAID.finditer(text)] if ":" in text or "：" in text else ()
    start = seen = 0  # the start of the sentence, and the end of its examined words
    last = ""  # word of the sentence so far
    for match in _END.finditer(text):
        if quoted and any(begins < match.start() and match.end() < ends for begins, ends in quoted):
            continue
        last = (text[seen : match.end()].rsplit(None, 1) or [last])[-1]
        seen = match.end()
        word = last.lstrip("(\"'")
        short = word.rstrip(".").casefold()
        if short in _BEFORE_NUMBER and text[seen : seen + 2].strip().isdigit():
            continue
        if (
            short in _ABBREVIATIONS
            or _INITIAL.fullmatch(word)
            or ((short in _MAY_END or short.isdigit()) and _goes_on(text, seen))
        ):
            continue
        if last:
            found.append(text[start:seen].strip())
        start, last = seen, ""
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _goes_on(text: str, at: int) -> bool:
    """Return whether the next word after an index begins with a small letter."""
    following = _NO_SPACE.search(text, at)
    return following is not None and following[0].islower()


def has_end(text: str) -> bool:
    """Return whether a text ends with the mark of a sentence, or with a quotation mark or bracket."""
    return _ENDED.search(text[-8:]) is not None


def with_end(text: str) -> str:
    """Return a text with the full stop of its script, unless it has an end; a question mark gives way."""
    if has_end(text) and not text.endswith(QUESTIONS):
        return text
    bare = text.rstrip(_LOOSE)
    return bare if not bare or has_end(bare) else bare + full_stop(bare)


def joined(sentences: Iterable[str]) -> str:
    """Return sentences as one text: with a space between them, except after a full stop that needs none."""
    parts: list[str] = []
    for sentence in sentences:
        spaced = any(parts) and not _NEEDS_NO_SPACE.search(parts[-1][-2:])
        parts.append(f" {sentence}" if spaced else sentence)
    return "".join(parts)


def all_of(parts: Sequence[str], between: str = ", ", last: str = " and ") -> str:
    """Return the parts as "a, b and c"."""
    return last.join([between.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def full_stop(text: str) -> str:
    """Return the full stop of the script in which a text ends; "" where it has none."""
    if text.isascii():
        return "."
    if _HAN_LAST.search(text):
        return "。"
    if _DANDA_LAST.search(text):
        return "।"
    return "" if _NO_STOP_LAST.search(text) else "."

"""Words of a text in any script: tokens, keywords (streams design, task 5), stems and the key for exact repeats.

The streams design tokenises with `[^a-z0-9\\s]`, which drops every letter outside English. Here a word is a run of
letters, digits and combining marks of any script; for English text the keywords are the same as the design's. Chinese,
Japanese and Thai write no spaces, so their runs are split into overlapping pairs of characters, as search engines do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby
from types import MappingProxyType
from typing import Literal

from cogitate.memory.language.tables import english, read_table

#: Irregular English form -> base form, lower case: "went" finds "go", which a suffix stemmer cannot know.
BASE_FORMS: Mapping[str, str] = MappingProxyType(
    {
        form: base
        for base, _, forms in (line.partition(":") for line in read_table("english")["irregular"].split("\n"))
        for form in forms.split()
    }
)

#: Stop words of the streams design, task 5, as listed there.
STOP_WORDS = english("stop_words")

#: Further English function words, and the ends of contractions (`words` splits "don't" into "don" and "t").
#: They carry no topic, so `stems` leaves them out; the design's keywords keep those longer than two letters.
FUNCTION_WORDS = STOP_WORDS | english("function_words")

#: Scripts that write no spaces between words, as halves of a character class: kana and Han, and Thai to Khmer.
KANA_AND_HAN = "\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
UNSPACED = KANA_AND_HAN + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"

#: Combining marks within words, as part of a character class.
MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e"
_WORD = re.compile(rf"[{UNSPACED}]+|(?:(?![{UNSPACED}\u0964\u0965])(?:[^\W_]|[{MARKS}]))+")
_ASCII_WORD = re.compile("[0-9a-z]+")  # the same where there is nothing else
_UNSPACED_RUN = re.compile(rf"[{UNSPACED}]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")

#: Every character that is white space, as `str.isspace` and `\\s` know it.
WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

_MOST_MARKS = 30  # in a row: no writing has more (Unicode, annex 15: "stream-safe")
#: The only characters that count as bases and yet come apart into marks alone.
_MARKS_IN_ONE = {0xF73: "\u0f71\u0f72", 0xF75: "\u0f71\u0f74", 0xF81: "\u0f71\u0f80"}


def normalized(text: str, form: Literal["NFC", "NFKD"] = "NFC") -> str:
    """Return the text in a Unicode normal form, in time that grows with its length and no faster.

    `unicodedata.normalize` sorts the marks on a letter by insertion, which takes a minute for a letter with 100,000.
    """
    return text if text.isascii() or unicodedata.is_normalized(form, text) else _normalized(text, form)


@lru_cache(maxsize=64)  # a statement to many is processed for each of them
def _normalized(text: str, form: Literal["NFC", "NFKD"]) -> str:
    marks, most = 0, 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) or ord(char) in _MARKS_IN_ONE else 0
        most = max(most, marks)
    return unicodedata.normalize(form, _with_sorted_marks(text) if most > _MOST_MARKS else text)


def _with_sorted_marks(text: str) -> str:
    """Return the text with the marks on each letter in canonical order."""
    runs = groupby(text.translate(_MARKS_IN_ONE), key=lambda char: unicodedata.combining(char) > 0)
    return "".join(char for _, run in runs for char in sorted(run, key=unicodedata.combining))


def is_unspaced(char: str) -> bool:
    """Return whether a character belongs to a script that writes no spaces between words."""
    return _UNSPACED_RUN.match(char) is not None


def words(text: str) -> list[str]:
    """Return the words of `text` in order, case-folded, without punctuation; apostrophes and hyphens separate words."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    found: list[str] = []
    for word in _WORD.findall(normalized(text).casefold()):
        if len(word) > 2 and _UNSPACED_RUN.match(word):
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            found.append(word)
    return found


def extract_keywords(text: str) -> list[str]:
    """Return the words of more than two letters that are no stop words, in order, with repeats (streams, task 5).

    Pairs of Chinese or Japanese characters count as long enough.
    """
    return [w for w in words(text) if w not in STOP_WORDS and (len(w) > 2 or _UNSPACED_RUN.match(w))]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of one case-folded word: irregular English forms by table, then Snowball by script.

    English for Latin letters, Russian for Cyrillic; words of other scripts stay as they are. A new stemmer object
    for each new word, because Snowball's keep state and threads may share this function.
    """
    base = BASE_FORMS.get(word, word)
    if base.isascii():
        if base[-1:].isdigit():  # no English ending ends in a digit, and numbered names are the words that are new
            return base
        from snowballstemmer.english_stemmer import EnglishStemmer  # loads those of thirty languages

        return str(EnglishStemmer().stemWord(base))
    if _CYRILLIC.search(base):
        from snowballstemmer.russian_stemmer import RussianStemmer

        return str(RussianStemmer().stemWord(base))
    return base


def stems(text: str, most: int | None = None) -> list[str]:
    """Return the stems of the first `most` words of `text` except function words, in order, with repeats."""
    return [stem(w) for w in words(text)[:most] if w not in FUNCTION_WORDS]


def normal(text: str) -> str:
    """Return the key that exact repeats share: case-folded, each run of whitespace one space, trimmed."""
    return " ".join(normalized(text).casefold().split())

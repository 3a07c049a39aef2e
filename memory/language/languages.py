"""The language of a text, as far as rules need it: by its script, or in Latin letters by its function words.

Each text is judged alone, and a short one may be in any language. English is the default, since a sentence such as
"Ben repaired Ada's roof" has no function word at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import chain

from cogitate.memory.language.packs import forget_with_packs, packs
from cogitate.memory.language.tables import english, read_table
from cogitate.memory.language.text import FUNCTION_WORDS, KANA_AND_HAN, normalized

ENGLISH = "en"
UNDETERMINED = "und"  # nothing in the text tells its language
OTHER = "mis"  # a language that is neither English nor known here
LONGEST = 2_000  # characters that are examined
_SHARE = 1 / 5  # of the words: fewer function words show a language only with accents, and if English has fewer still
_HAN_LETTERS = 3  # of an alphabet, which take as much room as a character of Han

#: Languages by their letters. Where several write with one script, the first whose own letters are there, or the last.
_SCRIPTS: tuple[tuple[str, str, int], ...] = (
    ("[\u3041-\u30ff\uff66-\uff9f]", "ja", _HAN_LETTERS),
    ("[\uac00-\ud7a3\u1100-\u11ff]", "ko", _HAN_LETTERS),
    (f"[{KANA_AND_HAN}]", "zh", _HAN_LETTERS),
    ("[\u0400-\u052f]", "ru", 1),
    ("[\u0600-\u06ff\u0750-\u077f]", "ar", 1),
    ("[\u0900-\u097f]", "hi", _HAN_LETTERS),
    ("[\u0e00-\u0e7f]", "th", 2),
    ("[\u0590-\u05ff]", "he", 1),
    ("[\u0370-\u03ff]", "el", 1),
)
_OWN_LETTERS = (("ru", "uk", frozenset("іїєґ")), ("ar", "fa", frozenset("پچژگکی")))
#: Letters that one language alone writes, of those with function words: they tell it where no such word stands.
_LATIN_LETTERS = (
    ("pl", frozenset("łńśźż")),
    ("cs", frozenset("ěřů")),
    ("tr", frozenset("ğı")),
    ("hu", frozenset("őű")),
    ("ro", frozenset("șț")),
    ("vi", frozenset("ơư").union(map(chr, range(0x1EA0, 0x1EFA)))),
    ("de", frozenset("ß")),
    ("es", frozenset("ñ¿¡")),
)
_ELSEWHERE = english("function_words_elsewhere")  # of English, and function words of another language
_LATIN = re.compile("[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
_LETTER = re.compile(r"[^\W\d_]")
_LATIN_WORD = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")


@lru_cache(maxsize=65_536)  # an owner's entries are looked at by each heuristic
def languages_of(text: str) -> tuple[str, ...]:
    """Return the languages that a text may be in, by their ISO 639 codes: several if nothing tells them apart."""
    said = normalized(text[:LONGEST])
    if not said.isascii():
        others = {language: weight * len(found.findall(said)) for found, language, weight in _by_script()}
        if others["ja"]:
            others["ja"] += others["zh"]
        latin, letters = len(_LATIN.findall(said)), len(_LETTER.findall(said))
        language = max(others, key=lambda one: others[one])
        if others[language] > latin:
            own = (one for script, one, letters in _OWN_LETTERS if script == language and letters.intersection(said))
            return (next(own, language),)
        if letters > 2 * latin:
            return (OTHER,)
    return _by_function_words(said)


def is_english(text: str) -> bool:
    """Return whether a text may be English: nothing in it shows another language."""
    return languages_of(text)[0] in (ENGLISH, UNDETERMINED)


def prevailing_language(texts: Iterable[str], around: str = UNDETERMINED) -> str:
    """Return the one language of several texts.

    Args:
        around: the answer if they show no language, or may be in this one.
    """
    found = languages_of(" ".join(texts)[:LONGEST])  # a cache keeps no more than is read
    return around if found[0] == UNDETERMINED or around in found else found[0]


def _by_function_words(text: str) -> tuple[str, ...]:
    words = _LATIN_WORD.findall(text)
    said = [word.lower() for at, word in enumerate(words) if not at or not word[0].isupper() or word == "I"]
    table = _table()
    found = Counter(chain.from_iterable(table[word] for word in said if word in table))
    if words and words[0][0].isupper() and not any(word in table for word in said[1:]):
        found.clear()  # "Ben" and "Su" are function words, too
    of_english = [word for word in said if word in FUNCTION_WORDS and len(word) > 1] + ["i"] * words.count("I")
    accented = 0 if text.isascii() else sum(not word.isascii() for word in said)
    lower = [*(said[1:] if words and words[0][0].isupper() else said)]  # a name tells no language
    lower += {"¿", "¡"}.intersection(text)
    most = max(found.values(), default=0)
    most_found = (language for language in _function_words() if found.get(language) == most)
    likely = {one: {word for word in said if one in table.get(word, ())} for one in most_found}
    if text.isascii():  # a single word that English has too shows no language, as in "brew ale"
        likely = {one: shown for one, shown in likely.items() if len(shown) > 1 or not shown <= _ELSEWHERE}
    if likely and (most >= _SHARE * len(said) or (accented and most > max(1, len(of_english)))):
        if most > len(of_english) or (most == len(of_english) and accented):
            return (own,) if len(likely) > 1 and (own := _by_letters(lower)) in likely else tuple(likely)
        # As many words of English: the other language has all of them, and one that English has not.
        more = tuple(one for one, shown in likely.items() if shown > set(of_english))
        if most == len(of_english) and more:
            return more
    own = _by_letters(lower) if accented else ""
    if of_english and not (own and most == len(of_english)):
        return (ENGLISH, *likely) if most == len(of_english) else (ENGLISH,)
    if own:
        return (own,)
    return (OTHER,) if 4 * accented > len(said) else (UNDETERMINED,)


def _by_letters(words: Iterable[str]) -> str:
    """Return the first language that alone writes a letter of these lower-case words, or "" without such a letter."""
    written = frozenset().union(*words)
    return next((language for language, letters in _LATIN_LETTERS if letters & written), "")


@cache
def _by_script() -> tuple[tuple[re.Pattern[str], str, int], ...]:
    """Return the pattern for the letters of each script, its language and the weight of a letter."""
    own = ((f"[{table['letters']}]", language, 1) for language, table in packs().items() if "letters" in table)
    return tuple((re.compile(letters), language, weight) for letters, language, weight in (*_SCRIPTS, *own))


@cache
def _function_words() -> dict[str, str]:
    """Return the function words of each language, by which it is told from others in Latin letters; a host's first."""
    own = {language: table["function_words"] for language, table in packs().items() if "function_words" in table}
    return own | {language: words for language, words in read_table("function_words").items() if language not in own}


@cache
def function_words_of(language: str) -> frozenset[str]:
    """Return the function words of a language in Latin letters, or of one that a host brings; none of English."""
    return frozenset(_function_words().get(language, "").split())


@cache
def _table() -> dict[str, tuple[str, ...]]:
    """Return the languages of each function word."""
    found: dict[str, tuple[str, ...]] = {}
    for language, words in _function_words().items():
        for word in words.split():
            if len(word) == 1:  # such words name many things, and many languages share them
                continue
            found[word] = (*found.get(word, ()), language)
    return found


for _cached in (languages_of, _by_script, _function_words, function_words_of, _table):
    forget_with_packs(_cached.cache_clear)

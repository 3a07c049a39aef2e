"""The terms of texts with their counts, cached: stems in the language of the text, themes and parts of words.

A part is what forms and compounds of a word share, in languages with more of them than English: its first letters, or a
Han character. Themes and parts begin with "#", which no word contains.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from cogitate.memory.language.languages import ENGLISH, UNDETERMINED, function_words_of, languages_of
from cogitate.memory.language.meanings import themes
from cogitate.memory.language.text import is_unspaced, stem, stems, words
from cogitate.memory.retrieval.text_cache import TextCache

_MOST_TERMS = 500_000  # of all texts together, about 50 MB
_BEGINNING = 5  # first letters of a word that make a part; fewer in Hangul, whose letters are syllables
_SYLLABLES = 2
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")

#: Languages for which Snowball has a stemmer, and its name there.
_SNOWBALL = {
    "ar": "arabic",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "es": "spanish",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}


class Terms(dict[str, int]):
    """The number of occurrences of each term in a text."""

    __slots__ = ("language", "length")

    def __init__(self, terms: Iterable[str], language: str = UNDETERMINED) -> None:
        super().__init__(Counter(terms))
        self.length = sum(self.values())  # of the text, in terms
        self.language = language  # of the text


def term_counts(text: str, language: str = UNDETERMINED) -> Terms:
    """Return how often each stem occurs in a text.

    Args:
        language: of a text whose own cannot be detected.
    """
    language = _language(text, language)
    return Terms(_stems(text, language), language)


def themed_counts(text: str, language: str = UNDETERMINED) -> Terms:
    """Return how often each stem, each theme and each part of a word occurs in a text (see `term_counts`)."""
    language = _language(text, language)
    stemmed, themes_of = _stems(text, language), themes()
    terms = stemmed + [theme for word in stemmed for theme in themes_of.get(word, ())]
    if language not in (ENGLISH, UNDETERMINED):
        terms += [f"#{part}" for word in _words(text, language) for part in _parts(word)]
    return Terms(terms, language)


def _language(text: str, otherwise: str) -> str:
    detected = languages_of(text)[0]
    return otherwise if detected == UNDETERMINED else detected


def _stems(text: str, language: str) -> list[str]:
    if language in (ENGLISH, UNDETERMINED):
        return stems(text)
    return [_stem(word, language) for word in _words(text, language)]


def _words(text: str, language: str) -> list[str]:
    function_words = function_words_of(language)
    return [word for word in words(text) if word not in function_words]


def _parts(word: str) -> list[str]:
    if is_unspaced(word[0]):
        return _HAN.findall(word)
    letters = _SYLLABLES if _HANGUL.match(word) else _BEGINNING
    return [word[:letters]] if len(word) >= letters else []


@lru_cache(maxsize=65_536)
def _stem(word: str, language: str) -> str:
    """Return the stem of one case-folded word; by its script if Snowball does not know the language."""
    import snowballstemmer  # here, since it loads the stemmers of thirty languages

    name = _SNOWBALL.get(language)
    if name not in snowballstemmer.algorithms():
        return stem(word)
    # A new object for each new word: it keeps state, and threads may share this function.
    return str(snowballstemmer.stemmer(name).stemWord(word))


TERMS = TextCache(term_counts, most=_MOST_TERMS)
THEMED_TERMS = TextCache(themed_counts, most=_MOST_TERMS)

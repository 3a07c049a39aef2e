"""The port of heuristics to languages: `language_of(text)` returns the `Language` of a text.

English has rules that, for example, retell statements in the third person and recognise courtesies. Other languages
are read by their packs alone: sentences keep all but their words for days, and are quoted instead of retold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from cogitate.memory.language.english.plug import english
from cogitate.memory.language.language import Language
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of
from cogitate.memory.language.markup import prose
from cogitate.memory.language.packs import forget_with_packs, pack_of, packs
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.talk import Speakers

_PARTS = re.compile(r"[:;：；]\s*")


def language_of(text: str, around: str = UNDETERMINED) -> Language:
    """Return the language of a text; English by default.

    Args:
        around: language of the surrounding text, which decides if the text shows none or may be in it.
    """
    found = languages_of(text)
    return language_called(around if found[0] == UNDETERMINED or around in found else found[0])


def language_called(code: str) -> Language:
    """Return the language with an ISO 639 code."""
    return english if code in (ENGLISH, UNDETERMINED) else Language(pack_of(code))


def is_courtesy(sentence: str, speakers: Speakers) -> bool:
    """Return whether a sentence holds nothing but thanks, praise and encouragement, in any language it may be in."""
    return any(language.is_courtesy(sentence, speakers) for language in _possible(sentence))


def changes_a_life(text: str) -> bool:
    """Return whether a text tells of an event that people remember for life, in any language it may be in."""
    return any(language.changes_a_life(text) for language in _possible(text))


@lru_cache(maxsize=65_536)  # an owner's memories are read again by each plan
def tells_trouble(text: str, around: str) -> bool:
    """Return whether a part of a text tells of trouble; a part in an unknown language is read as `around`."""
    return any(
        known.tells_trouble(part)
        for sentence in split_sentences(prose(text))
        for known in (language_called(around) if languages_of(sentence)[0] == OTHER else language_of(sentence, around),)
        for part in _PARTS.split(sentence)
    )


forget_with_packs(tells_trouble.cache_clear)


def knows_trouble(code: str) -> bool:
    """Return whether the pack of a language (ISO 639 code) has words for trouble."""
    return code == ENGLISH or bool(pack_of(code).phrase("harms") and pack_of(code).phrase("lacks"))


def calls_by_short_name(code: str) -> bool:
    """Return whether a language (ISO 639 code) calls people by a part of their full name."""
    return code in (ENGLISH, UNDETERMINED) or bool(pack_of(code).phrase("called_by"))


def _possible(text: str) -> Iterator[Language]:
    """Yield the languages that a text may be in: all with a pack if it shows none."""
    found = languages_of(text)
    yield language_called(found[0])
    if found[0] == ENGLISH:
        return
    others = packs() if found[0] in (OTHER, UNDETERMINED) else found[1:]
    yield from (Language(pack_of(code)) for code in others)

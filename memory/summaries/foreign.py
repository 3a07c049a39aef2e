"""Speech in other languages than English, which is quoted: no rule here retells it.

Courtesies are known from a table of words by language (`tables/courtesies.toml`); other languages have none.
"""

from __future__ import annotations

import re
from functools import cache

from cogitate.memory.language.endings import QUESTIONS, has_end, with_end
from cogitate.memory.language.languages import OTHER, UNDETERMINED, languages_of
from cogitate.memory.language.speakers import Speakers
from cogitate.memory.language.tables import read_table
from cogitate.memory.language.text import is_unspaced, normalized, words

_FIGURE = re.compile(r"\d")
_LETTER = re.compile(r"[^\W_]")


def quoted(clause: str, speaker: str, speakers: Speakers) -> str:
    """Return what was said, with who said it; "" for a word, a courtesy, and a question without a figure.

    Without a speaker the clause stays as it is.
    """
    said = clause if has_end(clause) else with_end(clause)
    if not speaker:
        return said
    asked = clause.endswith(QUESTIONS) and not _FIGURE.search(clause)
    return "" if asked or len(words(clause)) < 2 or is_courtesy(clause, speakers) else f"{speaker}: {said}"


def is_courtesy(sentence: str, speakers: Speakers) -> bool:
    """Return whether a sentence holds nothing but greetings, thanks and the like, and names of those who talk."""
    rest = normalized(sentence).casefold()
    for name in speakers.perhaps_in(sentence):
        rest = rest.replace(normalized(name).casefold(), " ")
    language = languages_of(sentence)[0]
    table = read_table("courtesies")
    likely = (language,) if language in table else tuple(table) if language in (OTHER, UNDETERMINED) else ()
    return any(_is_within(rest, _courtesies(one), speakers) for one in likely)


def _is_within(text: str, phrases: tuple[str, ...], speakers: Speakers) -> bool:
    """Return whether a text holds nothing but these phrases and parts of names."""
    if any(map(is_unspaced, text)):
        for phrase in phrases:
            text = text.replace(phrase, "")
        return len(_LETTER.findall(text)) < 2
    known = {word for phrase in phrases for word in words(phrase)}
    return all(word in known or speakers.is_part_of_name(word) for word in words(text))


@cache
def _courtesies(language: str) -> tuple[str, ...]:
    """Return the phrases of one language, the longest first."""
    phrases = {normalized(phrase).casefold() for phrase in read_table("courtesies").get(language, "").split()}
    return tuple(sorted(phrases, key=lambda phrase: (-len(phrase), phrase)))

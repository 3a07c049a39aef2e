"""Events that change a life, told as such: a marriage, a birth, a death, a betrayal, a theft, a secret found out.

The streams design rates these 10 ("got married", "discovered a secret"). In English words alone would not do: "my phone
died" and "the secret ingredient" are ordinary. So each pattern asks for what happened to a person. For other languages
a table lists what tells of such events (`tables/life_events.toml`).
"""

from __future__ import annotations

import re
from functools import cache

from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, is_english, languages_of
from cogitate.memory.language.tables import read_table
from cogitate.memory.language.text import MARKS, normalized

LONGEST = 2_000  # characters searched: texts mention life-changing events early

_KIN = (
    r"(?:mother|father|mom|mum|mama|dad|papa|parents?|brothers?|sisters?|wife|husband|sons?|daughters?|child|children|baby"
    r"|twins?|friend|uncle|aunt|cousin|niece|nephew|partner|fianc[ée]e?|boyfriend|girlfriend|grand(?:mother|father|ma|pa"
    r"|son|daughter|parents)|neighbou?r|teacher|king|queen)"
)
_NAME = r"(?!(?:The|My|Our|His|Her|Its|Their|Your|This|That|It|A|An|All|No|Nothing)\b)[A-Z]\w+"
_SOMEBODY = rf"(?:[Ii]|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|who|{_KIN}|{_NAME})"
_WHOM = rf"(?:me|him|her|us|them|(?:my|his|her|our|their) {_KIN}|{_NAME})"
_OWN = r"(?:my|his|her|our|their|\w+['’]s)"
_PATTERNS = (
    r"\b(?:[Gg]ot|[Gg]ets?|getting|[Ww]as|were|are|is|be|been) (?:married|engaged|divorced|widowed)\b"
    r"(?! (?:in|with) (?:a|the) )",
    rf"\bmarried {_WHOM}\b",
    rf"\b(?:proposed to|divorced|eloped with|broke up with|left) {_WHOM} (?:for good|at the altar|forever)\b",
    rf"\b(?:proposed to|divorced|eloped with) {_WHOM}\b",
    r"\b(?:[Gg]ave birth|(?:is|am|are|was) pregnant|expecting a (?:baby|child)|(?:was|were) born)\b",
    rf"\b{_SOMEBODY} (?:has |have |had |just |suddenly ){{0,2}}(?:died|passed away|drowned)\b",
    rf"\b{_SOMEBODY} (?:was|were|is|has been|had been) (?:found )?"
    r"(?:dead|killed|murdered|kidnapped|arrested|sentenced|buried)\b",
    rf"\b(?:murdered|killed|kidnapped|betrayed|disowned) {_WHOM}\b",
    rf"\b(?:stole|stolen|robbed) {_OWN} (?!glance|look|heart|show|thunder|breath|kiss|nap|moment)\w",
    rf"\b(?:discovered|uncovered|found out|learned|learnt|revealed|confessed|overheard|betrayed|told {_WHOM}) "
    rf"(?:about )?(?:a|the|an|{_OWN}) (?:[\w'’]+ )?secret\b(?! (?:ingredient|recipe|santa))",
    r"\b(?:diagnosed with|has cancer|had a (?:stroke|heart attack|miscarriage)|tried to kill)\b",
    rf"\blost {_OWN} (?:\w+ )?(?:job|home|house|farm|savings|fortune|leg|arm|eyesight|sight|memory|{_KIN})\b",
    r"\b(?:house|home|farm|village|town|mill|shop|barn) (?:has |had )?(?:burned|burnt) (?:down|to the ground)\b",
    r"\b(?:inherited|won the lottery|was (?:fired|exiled|banished|released from prison)|went to prison)\b",
)
_TURNING_POINTS = tuple(re.compile(pattern) for pattern in _PATTERNS)


_WORD = rf"[\w{MARKS}]"
_GAP = rf"(?:[^\w{MARKS}]{{1,3}}{_WORD}{{1,30}}){{0,3}}"  # words between two that belong together
_BETWEEN_WORDS = rf"[^\w{MARKS}]{{1,3}}"
_GAP_UNSPACED = ".{0,8}"


def changes_a_life(text: str) -> bool:
    """Return whether a text tells what people remember for the rest of their lives."""
    said = text[:LONGEST]
    languages = languages_of(said)
    if is_english(said) and any(pattern.search(said) for pattern in _TURNING_POINTS):
        return True
    if languages == (ENGLISH,):
        return False
    folded = _folded(said)
    return any(pattern.search(folded) for language in languages for pattern in _told_in(language))


@cache
def _told_in(language: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of one language; those of all that write spaces where the language is not known."""
    table = read_table("life_events")
    if language not in table:
        spaced = (one for one, listed in table.items() if "words" in listed)
        unknown = language in (OTHER, UNDETERMINED)
        return tuple(pattern for one in spaced for pattern in _told_in(one)) if unknown else ()
    listed, found = table[language], []
    if ways := _lines(listed.get("words", "")):
        prefixes = listed.get("prefixes", "")
        before = rf"(?<!{_WORD})[{prefixes}]?" if prefixes else rf"(?<!{_WORD})"
        found.append(re.compile(rf"{before}(?:{'|'.join(map(_of_words, ways))})(?!{_WORD})"))
    if ways := _lines(listed.get("anywhere", "")):
        found.append(re.compile("|".join(_GAP_UNSPACED.join(map(re.escape, way.split("…"))) for way in ways)))
    return tuple(found)


def _lines(text: str) -> list[str]:
    return [_folded(line) for line in text.splitlines() if line]


def _folded(text: str) -> str:
    return normalized(text).casefold().replace("\u0307", "")  # which is left of a Turkish "İ"


def _of_words(way: str) -> str:
    """Return the pattern of one way to say it: words, "*" for any end of one, "…" for up to three words between."""
    parts = (_BETWEEN_WORDS.join(map(_of_word, apart.split(" "))) for apart in way.split(" … "))
    return f"{_GAP}{_BETWEEN_WORDS}".join(parts)


def _of_word(word: str) -> str:
    return re.escape(word.removesuffix("*")) + (f"{_WORD}{{0,20}}" if word.endswith("*") else "")

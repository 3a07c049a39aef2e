"""Events that change a life, told as such: a marriage, a birth, a death, a betrayal, a theft, a secret found out.

The streams design rates these 10 ("got married", "discovered a secret"). Words alone would not do: "my phone died" and
"the secret ingredient" are ordinary. So each pattern asks for what happened to a person.
"""

from __future__ import annotations

import re

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


def changes_a_life(text: str) -> bool:
    """Return whether a text tells what people remember for the rest of their lives."""
    said = text[:LONGEST]
    return any(pattern.search(said) for pattern in _TURNING_POINTS)

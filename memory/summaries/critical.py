"""The critical information of the window design: objectives, relationships and inventory; and what it discards.

`tables/critical.toml` lists the words. A sentence without a person or an objective is
colour and weighs less, since relationships and possessions belong to people.
"""

from __future__ import annotations

import re

from cogitate.memory.language.tables import read_table


def _told(what: str) -> re.Pattern[str]:
    """Return the pattern for a kind of critical information; its words are separated by " | " or a line end."""
    table = read_table("critical")[what]
    words = table["words"].strip().replace("\n", "|").replace(" | ", "|")
    return re.compile(rf"\b(?:{words})\b|\b(?:{table['beginnings']})", re.IGNORECASE)


_OBJECTIVE, _BOND, _POSSESSION = map(_told, ("objective", "bond", "possession"))
#: What the window design discards: dice and rules.
_MECHANICS = re.compile(
    r"\b(?:rolls?|rolled) (?:an? )?(?:natural )?\d|\b\d*d(?:4|6|8|10|12|20)\b|\bDC \d|\bsaving throw|^initiative:", re.I
)
#: Subjects that are no particular person, and acts without one.
_COLOUR = re.compile(
    r"^(?:it|there|somebody|someone|something|nobody|no one|everybody|everyone|they|one of|an?|two|three|several|some|"
    r"the)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w'’-]+")  # within a sentence

#: Added to a sentence's value however long it is; a name in a sentence of ten words is worth about 1.
OBJECTIVE_VALUE, BOND_VALUE, POSSESSION_VALUE = 3.6, 3.0, 2.7
MECHANICS_SHARE = 0.01
COLOUR_SHARE = 0.25


def critical_value(sentence: str) -> float:
    """Return the value that critical information adds to a sentence's words."""
    value = OBJECTIVE_VALUE if _OBJECTIVE.search(sentence) else 0.0
    value += BOND_VALUE if _BOND.search(sentence) else 0.0
    return value + (POSSESSION_VALUE if _POSSESSION.search(sentence) else 0.0)


def share_of_words(sentence: str) -> float:
    """Return the factor on the weight of a sentence's words: lowest for game rules, reduced for colour, else 1."""
    if _MECHANICS.search(sentence):
        return MECHANICS_SHARE
    plain = _COLOUR.search(sentence) is not None and _NAME.search(sentence) is None
    return COLOUR_SHARE if plain and not _OBJECTIVE.search(sentence) else 1.0

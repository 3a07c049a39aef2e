"""The critical information of the window design: objectives, relationships and inventory; and what it discards.

English and Russian words that stories of any kind use for them, by rule. A sentence without a person or an objective is
colour and weighs less, since relationships and possessions belong to people.
"""

from __future__ import annotations

import re

#: Objectives, orders, promises and their deadlines.
_OBJECTIVE = re.compile(
    r"\b(?:quests?|objectives?|missions?|goals?|tasks?|deadlines?|must|needs? to|ha(?:s|ve|d) to|"
    r"(?:was|were|is|are) to|"
    r"(?:asked|told|ordered|begged|hired|sent|paid|persuade\w*|commissioned) \S+(?: \S+){0,3} to|"
    r"(?:wants?|wanted|means?|meant|plans?|planned|agreed|intends?|intended|hopes?|hoped|vow(?:s|ed)?|swore|tries|tried|"
    r"trying|ordered|refuse[sd]?|sent|hired|decide[sd]?|set out) to|"
    r"wants?|wanted|demand(?:s|ed)?|orders?|promised?s?|pledged|swore|vow(?:s|ed)?|oath|looking for|"
    r"search(?:es|ed|ing) for|"
    r"before (?:dawn|dusk|noon|midnight|winter|nightfall|sunset|anybody|anyone|the \w+)|"
    r"(?:by|until) (?:the (?:end|beginning) of|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|tomorrow|noon|midnight|dawn|"
    r"spring|summer|autumn|winter|January|February|March|April|May|June|July|August|September|October|November|December))\b"
    r"|\b(?:квест|задани|цел[ьи]|долж[еон]|обеща|поклял)",
    re.IGNORECASE,
)
#: Relationships.
_BOND = re.compile(
    r"\b(?:ally|allies|allied|enem(?:y|ies)|rivals?|friends?|friendship|marri(?:ed|age)|divorced|engaged|betrothed|"
    r"widow\w*|lovers?|in love|husband|wife|spouse|"
    r"(?:half[- ]?|step|foster[- ]?)?(?:brother|sister|mother|father|son|daughter)s?"
    r"(?:-in-law)?|parents?|nephew|niece|uncle|aunt|cousin|grand\w+|ex-\w+|fianc[ée]e?|twin|orphan\w*|heir|"
    r"(?:dis)?trust(?:s|ed)?|betray\w*|loves?|loved|hates?|hated|grudge|resents?|envies|forg(?:ave|ives)|owes?|owed|"
    r"apprentice|mentor|master of|pupil|servant|employs|saved .{1,40}'s life|not spoken|grew up|grown up|"
    r"fell out|quarrel\w*|fought|feud|blackmail\w*)\b"
    r"|\b(?:друг|друзь|враг|союзни|брат|сестр)",
    re.IGNORECASE,
)
#: Possessions.
_POSSESSION = re.compile(
    r"\b(?:inventory|carr(?:y|ies|ied|ying)|owns?|owned|possess\w*|wields?|keeps|kept|holds the|wears|brought|borrowed|"
    r"lent|handed|given|gave|took charge|takes charge|entrusted|inherited|pocketed|hid|hides|hidden|buried|locked|"
    r"picked up|found|bought|sold|received|stole|stolen|lost|missing|won a|signed for|there (?:is|was) (?:only )?one|"
    r"the only|the last|one \w+ left|(?:has|have|had) (?:a|an|the|one|two|three|\d+) \w+)\b"
    r"|\b(?:нес[её]т|наш[её]л|купил|получил|ключ)",
    re.IGNORECASE,
)
#: What it has discarded: dice and rules.
_MECHANICS = re.compile(
    r"\b(?:rolls?|rolled) (?:an? )?(?:natural )?\d|\b\d*d(?:4|6|8|10|12|20)\b|\bDC \d|\bsaving throw|^initiative:", re.I
)
#: Subjects that are no particular person, and acts without one.
_COLOUR = re.compile(
    r"^(?:it|there|somebody|someone|something|nobody|no one|everybody|everyone|they|one of|an?|two|three|several|some|"
    r"the)\b",
    re.IGNORECASE,
)
#: Unidentified people: their acts may matter as much.
_SOMEBODY = re.compile(r"(?:some(?:body|one)|nobody|no one|every(?:body|one)|they)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w'’-]+")  # within a sentence

#: Added to a sentence's value however long it is; a name in a sentence of ten words is worth about 1.
OBJECTIVE_VALUE, BOND_VALUE, POSSESSION_VALUE = 3.6, 3.0, 2.7
MECHANICS_SHARE = 0.01
COLOUR_SHARE = 0.25


def critical_value(sentence: str) -> float:
    """Return the value of a sentence beyond its words."""
    value = OBJECTIVE_VALUE if _OBJECTIVE.search(sentence) else 0.0
    value += BOND_VALUE if _BOND.search(sentence) else 0.0
    return value + (POSSESSION_VALUE if _POSSESSION.search(sentence) else 0.0)


def share_of_words(sentence: str) -> float:
    """Return how much of their usual weight a sentence's words have: rules of a game hardly any, colour some."""
    if _MECHANICS.search(sentence):
        return MECHANICS_SHARE
    plain = _COLOUR.search(sentence) is not None and _NAME.search(sentence) is None
    told = critical_value(sentence) > 0 if _SOMEBODY.match(sentence) else _OBJECTIVE.search(sentence) is not None
    return COLOUR_SHARE if plain and not told else 1.0

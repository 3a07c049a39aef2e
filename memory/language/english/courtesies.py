"""Courtesies: sentences that hold nothing but thanks, praise and encouragement, which a summary need not tell."""

from __future__ import annotations

import re

from cogitate.memory.language.tables import english
from cogitate.memory.language.talk import Speakers
from cogitate.memory.language.text import FUNCTION_WORDS, words

_DEAR = "treasure|angel|star|gem|saint|life-?saver|hero|legend"
#: "Nice to meet you at last", "How are you today?", "I had better get on", "So had I".
_FORMULA = re.compile(
    r"(?:(?:it(?:'s| is| was) )?(?:so |very |really )?(?:nice|good|great|lovely|pleased|glad) "
    r"to (?:meet|talk to|see) you"
    r"|how (?:are|have) you(?: been| doing)?"
    r"|(?:i|we) (?:had better|must|should|have to|need to) (?:get on|get going|get back|go|be going|be off|run)"
    rf"|you(?:'re| are) (?:such )?an? (?:{_DEAR})"
    r"|(?:and )?(?:you )?(?:mind your step|take care(?: of yourself)?|(?:give|send) (?:\w+ )?my regards)"
    r"(?: at home| to your \w+)?"
    r"|(?:i am|i'm) (?:fine|well|good|okay|ok|all right)(?:,? (?:thanks|thank you))?"
    r"|i (?:do not|don't) think we(?: have|'ve) (?:talked|met|spoken)(?: before)?"
    r"|(?:i am|i'm) not (?:so |quite |really )?sure(?: (?:yet|about (?:it|that)))?"
    r"|i(?: will|'ll| have to| must| had better) (?:think (?:about it|it over)|(?:tell|ask) (?:the others|somebody))"
    r"|(?:there is|there's) news|something (?:has )?happened(?: that you should know)?"
    r"|you (?:will not|won't) believe (?:it|this|what happened)"
    r"|(?:i have|i've got) a favou?r to ask(?: (?:of )?you)?"
    r"|(?:hello,? )?(?:my name is|i am|i'm|this is|call me) you"
    r"|(?:oh(?: no)?,? )?i (?:can (?:only |well )?imagine|see|know|understand|hope so|think so|suppose so|"
    r"completely forgot|forgot|don't mind|do not mind)|(?:better late than never|never mind)"
    r"|i (?:will not|won't) keep you|so (?:am|was|do|did|have|had|can|will|would) i)"
    r"(?: (?:at last|again|too|all|both|here|now|soon|then|home|any longer|today|this (?:morning|evening)|on day \d+))*"
    r"[\s.!?…]*",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r", you(?=[.!?…]*$)")
_EMPTY_WORDS = english("empty")


def is_small_talk(sentence: str, speakers: Speakers) -> bool:
    """Return whether a sentence is mere courtesy: a formula, or only names, function words and polite words."""
    formula = sentence.replace("’", "'")
    for name in speakers.perhaps_in(formula):
        formula = formula.replace(name, "you").replace(name.partition(" ")[0], "you")
    if _FORMULA.fullmatch(_ADDRESSED.sub("", formula.strip())):
        return True
    return all(w in FUNCTION_WORDS or w in _EMPTY_WORDS or speakers.is_part_of_name(w) for w in words(sentence))

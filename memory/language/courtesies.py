"""Courtesies: thanks, praise, encouragement, and sentences that hold nothing else.

A summary need not quote such sentences. It reports them together: "Gina praised and encouraged Jon, who thanked her."
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from memory.language.pronouns import pronouns_of
from memory.language.speakers import Speakers
from memory.language.text import FUNCTION_WORDS, words

_GOOD = (
    "(?:awesome|amazing|great|cool|wonderful|fantastic|incredible|impressive|inspiring|beautiful|lovely|nice|sweet|"
    "brilliant|excellent|fabulous|perfect|gorgeous|stunning|adorable|cute|good|fun|rad|neat|epic|wild|exciting)"
)
_DEAR = "treasure|angel|star|gem|saint|life-?saver|hero|legend"
_VERY = r"(?:(?:so|really|pretty|super|such|an?|truly|just|absolutely|quite)\s+)*"
#: Acts by their verb, in the order in which they are told.
_ACTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (verb, re.compile(pattern, re.IGNORECASE))
    for verb, pattern in (
        ("congratulated", r"\bcongrat"),
        (
            "consoled",
            r"\bsorry (?:to hear|about|for|that)\b|\b(?:must|can) (?:be|have been) (?:tough|rough|hard|sad)\b",
        ),
        (
            "praised",
            rf"\bproud of you|\byou(?:'re| are) {_VERY}{_GOOD}|\b{_GOOD} (?:job|work|idea|going|stuff)\b|\bway to go|"
            rf"\bwell done|\b(?:that|it|this)(?:'s| is| sounds?| looks?) {_VERY}{_GOOD}|"
            rf"^(?:looks|sounds) {_VERY}{_GOOD}|\blov(?:e|ing) (?:your|that|the|how)\b|\bimpress(?:ed|ive)\b|"
            rf"\byou(?:'re| are) {_VERY}(?:strong|talented|brave|{_DEAR})\b",
        ),
        (
            "encouraged",
            r"\bkeep (?:going|it up|up|at it|pushing|chasing|believing|trying|working|being|shining|rocking|on)\b|"
            r"\b(?:don't|never) (?:ever )?(?:give up|quit|stop)|\byou(?:'ve)? (?:got|can do) (?:this|it)|\bgood luck|"
            r"\bbest of luck|\bbelieve in (?:you|yourself)|\brooting for|\bgo for it|\bwish(?:ing)? you|"
            r"\bhang in there|\bstay (?:strong|positive|focused|motivated)|\byou'll (?:do|be|get|make|rock|nail)|"
            r"\bhere for you|\bhere to (?:support|help)|\bgot your back|\bcheer(?:ing)? you",
        ),
        (
            "agreed with",
            r"^(?:totally|definitely|absolutely|exactly|agreed|for sure|same here|me too|so true)\b|\bi agree\b",
        ),
        ("thanked", r"^(?:thanks|thank you|thx)\b|\bappreciat|\b(?:grateful|thankful) (?:for|to) (?:you|all)"),
    )
)
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
    r"|(?:oh,? )?i (?:can (?:only |well )?imagine|see|know|understand|hope so|think so|suppose so|completely forgot|"
    r"forgot|don't mind|do not mind)|(?:better late than never|never mind)"
    r"|i (?:will not|won't) keep you|so (?:am|was|do|did|have|had|can|will|would) i)"
    r"(?: (?:at last|again|too|all|both|here|now|soon|then|home|any longer|today|this (?:morning|evening)|on day \d+))*"
    r"[\s.!?…]*",
    re.IGNORECASE,
)
_EMPTY_WORDS = frozenset(
    words(
        "hey hi hello bye goodbye wow oh yeah yes yep ok okay thanks thank thx congrats congratulations awesome "
        "amazing great cool wonderful fantastic incredible impressive beautiful lovely nice sweet good well glad "
        "happy sorry see talk soon later take care look check sound sounds looks like love know let sure definitely "
        "totally absolutely exactly agree agreed really appreciate keep going go luck proud job way back long time "
        "happening new up tell share hear heard mean means lot much thing things stuff something anything "
        "everything day week weekend gonna wanna gotta kinda haha lol hope hoping get got give giving make makes "
        "pic pics picture photo photos idea support help encouragement words kind cheers enjoy fun excited exciting "
        "best wish wishing always never cute perfect inspiring inspired worries worry think thinking thought guess "
        "bet right one guys pretty super interesting say said seem seems feel feels come came want wants catch chat "
        "morning afternoon evening night "
        "bit miss missed year ready work hard worth believe tough rough must man dude buddy bunch ton million lots "
        "friend girl"
    )
)


def acts(sentence: str) -> list[str]:
    """Return the acts in a sentence as verbs that take the listener: "praised", "thanked", …"""
    text = sentence.replace("’", "'").strip()
    return [verb for verb, pattern in _ACTS if pattern.search(text)]


def is_small_talk(sentence: str, speakers: Speakers) -> bool:
    """Return whether a sentence is mere courtesy: a formula, or only names, function words and polite words."""
    formula = sentence.replace("’", "'")
    for name in speakers.perhaps_in(formula):
        formula = formula.replace(name, "you")
    if _FORMULA.fullmatch(formula.strip()):
        return True
    return all(w in FUNCTION_WORDS or w in _EMPTY_WORDS or speakers.is_part_of_name(w) for w in words(sentence))


def tell_acts(counts: dict[str, Counter[str]], speakers: Sequence[str]) -> str:
    """Return one sentence on who did what to whom, "" unless there are exactly two speakers and one did something."""
    if len(speakers) != 2:
        return ""
    first, second = sorted(speakers, key=lambda s: -sum(counts.get(s, Counter()).values()))
    mine, theirs = (_main(counts.get(s, Counter())) for s in (first, second))
    both = [verb for verb in mine if verb in theirs]
    mine, theirs = [v for v in mine if v not in both], [v for v in theirs if v not in both]
    if both:
        told = f"{first} and {second} {_list(both)} each other"
        rest = [
            f"{one} {_list(own)} {other}" for one, own, other in ((first, mine, second), (second, theirs, first)) if own
        ]
        return f"{told}; {', and '.join(rest)}." if rest else f"{told}."
    if mine and theirs:
        return f"{first} {_list(mine)} {second}, who {_list(theirs)} {pronouns_of(first).object}."
    one, other, own = (first, second, mine) if mine else (second, first, theirs)
    return f"{one} {_list(own)} {other}." if own else ""


def _main(counted: Counter[str]) -> list[str]:
    """Return the three most frequent acts, in the order of `_ACTS`."""
    top = sorted(counted, key=lambda verb: (-counted[verb], verb))[:3]
    return [verb for verb, _ in _ACTS if verb in top]


def _list(verbs: Sequence[str]) -> str:
    return " and ".join([", ".join(verbs[:-1]), verbs[-1]] if len(verbs) > 1 else verbs)

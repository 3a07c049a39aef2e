"""References within a sentence: it stands alone if no pronoun refers to an earlier sentence.

Rules for English, by the looks of words. A name or a noun with an article explains "she" and "they", and a noun with an
article "it".
"""

from __future__ import annotations

import re

from cogitate.memory.language.english.grammar import is_past
from cogitate.memory.language.text import FUNCTION_WORDS

_BE = r"(?:is|was|are|were|will|would|sounds?|means?|makes?|made|helps?|helped)"
#: "this" and the like without a noun
_BARE = re.compile(
    r"\b(?:this|that|these|those)(?=[.!?,;:”\"]|$)|"
    rf"(?:^|[,;] |\bthat )(?:this|these|those|that|that['’]s) {_BE}\b|"
    r"\b(?:of|about|with|for|to|on|like|do|did|does|done|try|know|knew|said|say|hear|heard|believe) (?:this|that)"
    r"(?= (?:yet|too|again|soon|now|then|at|one|tonight|before|together|and|but|some)\b)",
    re.IGNORECASE,
)
_OPENS_BARE = re.compile(
    rf"(?:this|these|those|that|such) {_BE}\b|that['’]s\b|"
    r"(?:and|but|or|so|then|either|neither|also|too|because)\b",
    re.IGNORECASE,
)
_IT = re.compile(r"\bit\b(?:['’]s\b)?", re.IGNORECASE)
#: "It" that stands for nothing: of the weather, the time, or what comes later in the sentence.
_EMPTY_IT = re.compile(
    r"it(?:['’]s| is| was| has been| will be| seems?| seemed| turned| looks?| looked| takes?| took| got| gets) "
    r"(?!perfect|lovely|mine|yours|broken|down|over|gone)|it (?:rain|snow|hail)|it turns",
    re.IGNORECASE,
)
_THING = re.compile(r"\b(?:the|an?|my|your|his|her|our|their|this|some|any|no) (?:\w+ )?\w{3,}", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:he|she|him|her|his|hers|they|them|their|theirs)\b", re.IGNORECASE)
#: What a pronoun behind it may refer to: a name, or a noun with an article.
_NAMED = re.compile(r"(?<=[a-z,] )[A-Z]\w+|\b(?:[Tt]he|[Aa]n?|[Mm]y|[Yy]our|[Oo]ur) \w+")


def stands_alone(sentence: str) -> bool:
    """Return whether no pronoun refers to an earlier sentence."""
    person = _PERSON.search(sentence)
    first = sentence.partition(" ")[0].lower()
    is_named = first not in FUNCTION_WORDS and not is_past(first)  # by a name that opens the sentence
    is_loose = person is not None and not is_named and _NAMED.search(sentence, 0, person.start()) is None
    return not is_loose and not leans_on_something(sentence)


def leans_on_something(sentence: str) -> bool:
    """Return whether a sentence has an "it" or a "this" that refers to an earlier sentence."""
    if _OPENS_BARE.match(sentence) or _BARE.search(sentence):
        return True
    it = _IT.search(sentence)
    return it is not None and not _EMPTY_IT.match(sentence, it.start()) and not _THING.search(sentence, 0, it.start())

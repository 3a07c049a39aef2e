"""References within a sentence: it stands alone if no pronoun refers to an earlier sentence.

Rules for English, by the looks of words. A name, a kinship or a trade explains "she" and "they", a plural explains
"they", a noun with an article explains "it". Unclear pronouns count as explained.
"""

from __future__ import annotations

import re

from cogitate.memory.language.english.grammar import is_adverb, is_inflected, word_set
from cogitate.memory.language.tables import english
from cogitate.memory.language.text import BASE_FORMS, FUNCTION_WORDS

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PERSON = word_set("he she him her his hers himself herself")
_SEVERAL = word_set("they them their theirs themselves")
_KIN = english("kin")
_NO_PLURALS = english("no_plurals")
_OPENERS = english("openers")
_VERBS = frozenset(BASE_FORMS.values())
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
_ELLIPSIS = re.compile(
    r"\b(?:I|you|we|they|he|she|it) "
    r"(?:can|could|will|would|should|must|may|might|do|did|does|is|are|was|were|am|have|has|had)"
    r"(?:n['’]t| not)?(?=[,.;!]|$)|\bcan(?:no|['’])t(?=[,.;!]|$)|\b(?:by|until|since) then\b|\beither\.?$",
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
_OPENS_WITH_PRONOUN = re.compile(r"(he|she|they)(?= \w)", re.IGNORECASE)
#: "My brother", "The old captain", "Ada Smith": the subject of a sentence, if it is a person.
_SUBJECT = re.compile(
    r"(?:(?:[Mm]y|[Oo]ur|[Yy]our|[Hh]is|[Hh]er|[Tt]heir|[Tt]he|[Aa]n?) (?:[a-z]+ ){0,2}(?:"
    + "|".join(sorted(_KIN))
    + r")|(?!(?:I|We|You|It|He|She|They|The|My|Our|This|That|There)\b)[A-Z][\w'’-]+ [A-Z][\w'’-]+)(?= [a-z])"
)


def resolved(sentence: str, before: str) -> str:
    """Return a sentence whose opening "he", "she" or "they" is replaced by the subject of the sentence `before` it.

    Text after a colon, such as a letter's, has a separate subject. Beside another person, who is meant is unclear.
    """
    opening = _OPENS_WITH_PRONOUN.match(sentence)
    told = before.rpartition(": ")[2]
    subject = _SUBJECT.match(told) if opening and before else None
    if opening is None or subject is None or any(map(_is_person, _WORD.findall(told, subject.end()))):
        return sentence
    return f"{subject[0]}{sentence[opening.end(1) :]}"


def _is_person(word: str) -> bool:
    return word.lower() in _KIN or looks_like_name(word, first=False)


def leans_on_others(sentence: str) -> bool:
    """Return whether a sentence has a pronoun that refers to an earlier sentence."""
    return leans_on_somebody(sentence) or leans_on_something(sentence)


def leans_on_somebody(sentence: str) -> bool:
    """Return whether a sentence has a "she", "they" or the like that refers to an earlier sentence."""
    person = several = False
    for at, word in enumerate(_WORD.findall(sentence)):
        low = word.lower().replace("’", "'").removesuffix("'s")
        if (low in _PERSON and not person) or (low in _SEVERAL and not several):
            return True
        if low in _KIN or looks_like_name(word, first=at == 0):
            person = several = True
        several = several or is_plural(low)
    return False


def leans_on_something(sentence: str) -> bool:
    """Return whether a sentence has an "it", a "this" or half a reply that refers to an earlier sentence."""
    if _OPENS_BARE.match(sentence) or _BARE.search(sentence) or _ELLIPSIS.search(sentence):
        return True
    it = _IT.search(sentence)
    return it is not None and not _EMPTY_IT.match(sentence, it.start()) and not _THING.search(sentence, 0, it.start())


def looks_like_name(word: str, *, first: bool) -> bool:
    """Return whether a word, the `first` of a sentence or a later one, seems to be a name."""
    low = word.lower().replace("’", "'")
    if not word[0].isupper() or low in FUNCTION_WORDS or low.split("'")[0] in ("i", "am", "pm", "day", "ok", "tv"):
        return False
    if not first:
        return True
    return not (low in BASE_FORMS or low in _VERBS or low in _OPENERS or is_adverb(low) or is_inflected(low))


def is_plural(word: str) -> bool:
    """Return whether a word (lower case) looks like the plural of a noun."""
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")) and word not in _NO_PLURALS

"""Observations and talk as the one who remembers them would tell them: "Saw Maria" becomes "I saw Maria".

Rules for English; text in another language stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from memory.language.grammar import PLURAL, SINGULAR, agree, has_verb, is_adverb, is_past
from memory.language.persons import tokens_of
from memory.language.pronouns import pronouns_of
from memory.language.references import looks_like_name, names_person
from memory.language.reported import is_english, is_request, third_person

_OF_ONE = {"is": "am", "has": "have", "does": "do", "isn't": "am not", "hasn't": "haven't", "doesn't": "don't"}
_TAKES_ME = re.compile(
    r"(?:\b(?:to|for|of|with|about|at|from|by|than|like|and|towards?|behind|beside|without|between|on|near|after|before)"
    r"|\b\w+(?:ed|ing)|\b(?:told|gave|sent|saw|met|asks|asked|sees|tells|gives|helps|thanks|meets|brought|lent|paid|"
    r"showed|taught|let|made|left|hit|heard|kept|found|caught|forgave|understood|sold|bought|bought|tell|give|see))\s$"
)
_STARTS = re.compile(r"(?:^|[.!?]\s|,\s(?:and|but|so|because|while|when)\s|\b(?:that|if|because|when|while)\s)$")
_PLURAL_SUBJECT = re.compile(r"^(\w[\w'’-]*(?: \w[\w'’-]*){0,2}) and $")


_NEAR = 80  # characters before a name that say what part it plays


def in_own_words(text: str, name: str) -> str:
    """Return an observation as the one called `name` tells it: "Ada Smith's lamp went out" is "My lamp went out"."""
    whole = with_subject(text, "I")
    if whole.startswith("I ") and not text.startswith("I "):
        return whole
    text = whole
    if not name or name not in text:
        return text
    text = _without_name_in_list(text, name)
    pieces = re.split(rf"({re.escape(name)}(?!\w)(?:['’]s\b)?)", text)
    out, alone = "", _names_one(text, name)
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            out += piece
        elif piece != name:
            out += "My" if not out or out.endswith((". ", "! ", "? ")) else "my"
        elif _STARTS.search(out[-_NEAR:]):
            out += "I"
            pieces[index + 1] = _for_me(pieces[index + 1])
        elif _PLURAL_SUBJECT.match(out[:_NEAR]):  # a long opening is not read again for each name
            out += "I"
        else:
            out += "me" if _TAKES_ME.search(out[-_NEAR:]) or not pieces[index + 1].startswith(" ") else "I"
            if out.endswith("I"):
                pieces[index + 1] = _for_me(pieces[index + 1])
    return _own_pronouns(out) if alone else out


def with_subject(text: str, subject: str) -> str:
    """Return an observation with the subject that it leaves out: "Saw a cat" becomes "Ada saw a cat"."""
    text = text.replace(" engaged in an activity: ", " ")
    first, _, rest = text.partition(" ")
    if subject and rest and _has_no_subject(first, rest):
        return f"{subject} {first[:1].lower()}{first[1:]} {rest}"
    return text


def _without_name_in_list(text: str, name: str) -> str:
    """Return the text without one's own name where it is one of a list: "here are Ada, Bo and Cy"."""
    own = re.escape(name)
    text = re.sub(rf"(?<=\w ){own}, (?=[^\W\d_a-z]\w* [^\W\d_a-z])", "", text)
    return re.sub(rf"(?<=\w), {own}(?=[.,;]|$)", "", text)


def deed_in_own_words(deed: str, *, mine: bool, other: str) -> str:
    """Return what was said or promised, "repair your gate", as one of the two tells it who has just named the other.

    Args:
        mine: one's own words, so that "you" is the `other`; otherwise "I" is.
    """
    theirs = pronouns_of(other)
    you = {"you": theirs.object, "your": theirs.possessive, "yours": theirs.absolute, "yourself": theirs.reflexive}
    me = {
        "you": "me",
        "your": "my",
        "yours": "mine",
        "yourself": "myself",
        "my": theirs.possessive,
        "me": theirs.object,
    }
    tokens, out = tokens_of(deed), []
    agreeing: Callable[[str], str] | None = None  # for the verb of a replaced subject
    previous = ""
    for token, following in zip(tokens, _next_words(tokens), strict=True):
        low, told = token.lower(), token
        if agreeing is not None and token[0].isalnum() and not is_adverb(low):
            told, agreeing = agreeing(token), None
        elif low == "you" and previous == "thank":
            pass  # "to say thank you"
        elif low == "you" and (previous in _BEFORE_SUBJECT or following in _AFTER_SUBJECT):
            told = theirs.subject if mine else "I"
            agreeing = _for_me_only if not mine else _for_several if theirs.plural else _for_one
        elif low == "i" and not mine:
            told, agreeing = theirs.subject, _for_several if theirs.plural else _for_one
        else:
            told = (you if mine else me).get(low, token)
        out.append(told)
        previous = low if token[0].isalnum() else previous
    return "".join(out).strip(" .!,;:")


def _next_words(tokens: Sequence[str]) -> list[str]:
    """Return for each token the word that follows it, in lower case; "" for the last."""
    found: list[str] = []
    following = ""
    for token in reversed(tokens):
        found.append(following)
        following = token.lower() if token[0].isalnum() else following
    return found[::-1]


def told_to(sentence: str, speaker: str, listener: str, name: str, names: Collection[str] = ()) -> str:
    """Return what `speaker` said to `listener` as the one called `name`, who is one of them, reports it.

    "" where it would make no sentence. `names` are words that keep their capital.
    """
    if not is_english(sentence):
        return ""
    if speaker == name:
        courtesy = third_person(sentence, _NOBODY, listener, names)
        if listener and _COURTESY.match(courtesy):
            return in_own_words(courtesy, _NOBODY)
        said = deed_in_own_words(sentence, mine=True, other=listener)
        lowered = [token.lower() for token in tokens_of(sentence) if token[0].isalnum()]
        if not listener or not said or not has_verb(lowered) or is_request(lowered) or "you" in said.split():
            return ""
        first = said.split(maxsplit=1)[0]
        keeps = first in names or first == "I" or first.startswith("I'") or (first.isupper() and len(first) > 1)
        return f"I told {listener} that {said if keeps else said[:1].lower() + said[1:]}"
    reported = third_person(sentence, speaker, _NOBODY if listener == name else listener, names)
    if _MENTIONS_A_THING.search(reported) or (not listener and _YOU.search(reported)):
        return ""
    return in_own_words(reported, _NOBODY)


_NOBODY = "Zqyou"  # stands for "you" until it is told as "me" or "I": no pronoun can take its place
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_COURTESY = re.compile(rf"{_NOBODY} (?:thanked|congratulated|wished|was sorry)\b")
_MENTIONS_A_THING = re.compile(r" mentioned (?!that\b)")
_BEFORE_SUBJECT = frozenset(
    ("while", "if", "when", "before", "as", "since", "that", "because", "until", "where", "what", "how", "whenever")
)
_AFTER_SUBJECT = frozenset(
    ("are", "were", "have", "will", "can", "could", "would", "should", "must", "may", "do", "did")
)


def _for_me_only(verb: str) -> str:
    return "am" if verb.lower() == "are" else "was" if verb.lower() == "were" else verb


def _for_one(verb: str) -> str:
    return agree(verb, SINGULAR)


def _for_several(verb: str) -> str:
    return agree(verb, PLURAL)


def _has_no_subject(first: str, rest: str) -> bool:
    """Return whether a text opens with the past of a verb whose subject is left out: "Had lunch", "Waited in vain"."""
    if not first[:1].isupper() or not is_past(first.lower()):
        return False
    return not re.match(r"(?:\w+ ){0,2}(?:is|was|were|are|has|had)\b", rest) or first.lower() in {"saw", "had", "met"}


def _for_me(rest: str) -> str:
    """Return what follows "I" with the verb that it takes."""
    space, _, words = rest.partition(" ")
    verb, _, others = words.partition(" ")
    if space or not verb:
        return rest
    bare = verb.rstrip(".,;!?")
    mine = _OF_ONE.get(bare, bare)
    if mine == bare and bare.endswith("s") and not bare.endswith(("ss", "us")) and bare.islower() and bare != "was":
        mine = bare[:-3] + "y" if bare.endswith("ies") else bare[:-2] if bare.endswith(_ES) else bare[:-1]
    return f" {mine}{verb[len(bare) :]} {others}" if others else f" {mine}{verb[len(bare) :]}"


_ES = ("sses", "shes", "ches", "xes", "zes", "oes")


def _names_one(text: str, name: str) -> bool:
    """Return whether nobody but the owner seems to be named, so that "her" is the owner's."""
    first, _, _ = text.partition(" ")
    if first and not text.startswith(name) and looks_like_name(first, first=True):  # a text may begin with a space
        return False
    others = re.finditer(r"(?<=[\w,] )[^\W\d_]\w", text.replace(name, ""))
    return not any(found[0][0].isupper() for found in others)


def _own_pronouns(text: str) -> str:
    text = re.sub(r"\bhim\b|\bher\b(?! \w)|\bher (?=(?:a|an|the|half|some|all|many|much|more)\b)", _me, text)
    if names_person(text):
        return text
    return re.sub(r"\b(?:his|her)\b", "my", re.sub(r"\b(?:him|her)self\b", "myself", text))


def _me(found: re.Match[str]) -> str:
    return "me " if found[0].endswith(" ") else "me"

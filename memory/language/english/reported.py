"""Speech reported: "I lost my job" becomes "Jon lost his job", "Keep going!" "Gina told Jon to keep going".

Rules for English only; speech in another language is given as it was said. What is no clause is told as what it is: a
request, advice, a proposal ("Jon suggested that they meet"), or a thing ("Jon mentioned a festival next month"). What a
speaker denies is told as said: "Jon said that he never promised it". Of any other clause it is told that it was said,
and no more: whether it argues, warns or praises, no rule can tell.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cogitate.memory.language.english.grammar import has_verb, is_adverb, word_set
from cogitate.memory.language.english.persons import replace_persons, tokens_of
from cogitate.memory.language.tables import english
from cogitate.memory.language.text import FUNCTION_WORDS, words

_FIRST = word_set("i im my")
_YOU = word_set("you your yours yourself")
_DENIALS = word_set("never not")
_REQUESTS = english("requests")
_OPENS_THING = word_set("a an the my our your this these those some another")
_ABOUT_THAT = word_set("is was would will must really sounds looks makes made helped means meant could can")
_QUOTES = word_set("' \" “ ‘ « (")


def third_person(sentence: str, speaker: str, listener: str = "", names: Collection[str] = ()) -> str:
    """Return the sentence as others would report it of `speaker`, and of `listener`, who is its "you" (if anyone is).

    `names` are words that keep their capital. The result starts with the speaker, or with whom the speaker names
    beside "I", unless there are no words at all.
    """
    tokens = tokens_of(sentence)
    start = next((i for i, token in enumerate(tokens) if token[0].isalnum()), None)
    if start is None:
        return sentence
    if not is_english(sentence):
        return f"{speaker}: {sentence}"
    opening = "".join(tokens[:start]).strip()
    opening = opening if opening in _QUOTES else ""
    tokens = tokens[start:]
    lowered = [token.lower() for token in tokens if token[0].isalnum()]
    first = lowered[0]
    if first in {"let's", "lets"}:
        return f"{speaker} suggested that they {replace_persons(tokens[1:], speaker, listener, named=True)}"
    asked = bool(listener) and is_request(lowered)
    subject = next((low for low in lowered[:4] if not is_adverb(low)), first)
    if first in _FIRST or subject == "i":
        denied = subject == "i" and is_denial(lowered)
        told = replace_persons(tokens, speaker, listener, named=denied)
        if denied:  # a claim that others may contest
            return f"{speaker} said that {_uncapital(told)}"
        return told[0].upper() + told[1:]
    if not (opening or first in _YOU or tokens[0] == "I" or _is_name(tokens, names)):
        tokens = [_uncapital(tokens[0]), *tokens[1:]]
    if first == "that's" or (first == "that" and lowered[1:2] != [] and lowered[1] in _ABOUT_THAT):
        tokens = ["it" + tokens[0][4:], *tokens[1:]]
    elif first == "that":  # "mentioned that that …" would stumble
        tokens = ["the", *tokens[1:]]
    told = opening + replace_persons(tokens, speaker, listener, named=True, heard=asked)
    if asked:
        refusal = {"don't": 5, "do": 6}.get(first)  # characters of "don't", of "do not"
        return f"{speaker} told {listener} " + (f"not to{told[refusal:]}" if refusal else f"to {told}")
    if not has_verb(lowered) and (first not in _OPENS_THING or len(lowered) < 6):
        return f"{speaker} mentioned {told}"
    return f"{speaker} said that {told}"


def is_denial(lowered: Sequence[str]) -> bool:
    """Return whether a sentence, given as words in lower case, denies something."""
    return any(low in _DENIALS or low.endswith("n't") for low in lowered)


def is_request(lowered: Sequence[str]) -> bool:
    """Return whether a sentence, given as words in lower case, is a request: "Keep going"."""
    first = lowered[0] if lowered else ""
    return first in _REQUESTS or list(lowered[:2]) in (["feel", "free"], ["do", "not"])


def is_english(sentence: str) -> bool:
    """Return whether the rules here apply: the sentence is short, or holds an English function word.

    One that opens with a foreign word, as with a name, must be full of them, names apart.
    """
    found = words(sentence)
    common = sum(w in FUNCTION_WORDS for w in found)
    if all(w.isascii() for w in found[:1]):
        return len(found) < 4 or common > 0
    plain = [w for token in tokens_of(sentence) if not token[0].isupper() for w in words(token)]
    return 3 * sum(w in FUNCTION_WORDS for w in plain) > len(plain)


def _is_name(tokens: list[str], names: Collection[str]) -> bool:
    """Return whether a sentence opens with a name: one that is known, or a word before one that is ("Fatima Benali").

    A foreign word in an English sentence is taken for one.
    """
    first, *others = [token.removesuffix("'s") for token in tokens if token[0].isalnum()][:2]
    if first.lower() in _OPENS_THING or first in ("It", "There", "If", "When"):  # capital only as it opens a sentence
        return False
    if first in names or not first.isascii():
        return True
    low = first.lower()
    common = low in FUNCTION_WORDS or low in _REQUESTS or has_verb([low])
    return bool(others) and tokens[1:2] == [" "] and others[0] in names and not common


def _uncapital(word: str) -> str:
    return word if word.isupper() and len(word) > 1 else word[:1].lower() + word[1:]

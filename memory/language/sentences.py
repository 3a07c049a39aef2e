"""Sentences and clauses of what was said or seen, freed of greetings, interjections and forms of address.

Every pattern here is linear, whatever the text: a repeat gives nothing back once it has taken it (`++`), and where a
match may begin with a repeat, it begins only where the run of those characters does (`(?<!…)`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.language.endings import QUESTIONS, SPACED, UNSPACED, full_stop
from cogitate.memory.language.grammar import has_verb, word_set

#: Words after which a full stop ends no sentence.
_ABBREVIATIONS = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "e.g", "i.e", "approx", "dept"})
_MAY_END = frozenset({"a.m", "p.m", "etc", "no", "inc"})
_END = re.compile(rf"(?<![{SPACED}])[{SPACED}]++[\"'”’»)\]]*+(?=\s|$)|[{UNSPACED}]++[”」』）]*+|\n++")
_CONJUNCTION = r"(?:but|and\s++so|so|and)\s++(?=(?:I|we|it|they|he|she|there|this|that)(?:['’]\w++)?\s++[\w'’]++\s++\w)"
_CLAUSE = re.compile(
    rf"(?<!\s)\s++(?:[-–—]++\s++|—\s*+|{_CONJUNCTION})|—\s*+|(?<=\w)[-–]\s++|;\s++|,\s++{_CONJUNCTION}",
    re.IGNORECASE,
)
_WORDLIKE = re.compile(r"\w")
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
#: A part that opens so needs the part after it.
_SUBORDINATING = word_set("if when whenever because since while although though unless until as after before whether")
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_SPACE = re.compile(r"\s+")
_NO_SPACE = re.compile(r"\S")
_INITIAL = re.compile(r"(?!I)[^\W\d_]\.")  # "J."
_CALL = r"(?:oh|ah|wow|whoa|woah|yeah|yes|yep|yup|yay|no|nah|nope|ok|okay|well|hey|hi|hello|bye|hmm|haha|ha|aw|aww|ugh)"
_POLITE = (
    r"(?:thanks|thank you|thx|congrats|congratulations|sorry|good morning|good night|cool|great|nice|awesome|sure)"
)
_TITLE = r"(?:captain|doctor|sir|madam|ma'am|boss|mum|mom|dad|officer|professor|dear|darling|my friend|old friend)"
_TITLE_AT_START = re.compile(rf"^{_TITLE}[,!] ", re.IGNORECASE)
_TITLE_AT_END = re.compile(rf", {_TITLE}(?=[.!?…]*+$)", re.IGNORECASE)
_OPENING = re.compile(
    rf"^(?:{_CALL}\b[,.!\s]*|what a (?:pity|shame|surprise|relief)[,.!\s]+|"
    r"(?:and|but|plus|also|anyway|by the way|btw|guess what|tell me)\b[,.!\s]+|"
    rf"(?:{_POLITE}|man|totally|definitely|absolutely|exactly|right|so|actually|honestly|of course|for sure|"
    r"unfortunately|hopefully|you know|i mean)\b(?:[,.!]+\s*|\s+(?=(?:I|we|my|our)\b)))+",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:,\s++(?:right|you know|thanks|thank you(?: for asking)?)|(?:,|(?<!\s))\s++(?:btw|by the way|lol|haha|huh))"
    r"(?=[.!?…]*+$)",
    re.IGNORECASE,
)


def split_sentences(text: str) -> list[str]:
    """Return the trimmed sentences of `text` in order, by the full stops of its script and line ends."""
    found: list[str] = []
    start = seen = 0  # where the sentence begins, and up to where its words were looked at
    last = ""  # word of the sentence so far
    for match in _END.finditer(text):
        last = (text[seen : match.end()].rsplit(None, 1) or [last])[-1]
        seen = match.end()
        word = last.lstrip("(\"'")
        short = word.rstrip(".").casefold()
        if short in _ABBREVIATIONS or _INITIAL.fullmatch(word) or (short in _MAY_END and _goes_on(text, seen)):
            continue
        if last:
            found.append(text[start:seen].strip())
        start, last = seen, ""
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _goes_on(text: str, at: int) -> bool:
    """Tell whether the next word after an index begins with a small letter."""
    following = _NO_SPACE.search(text, at)
    return following is not None and following[0].islower()


def split_clauses(sentence: str) -> list[str]:
    """Return the independent clauses of a sentence: cut at dashes, semicolons, and conjunctions before a subject.

    It is cut only if both parts have a verb: "My wife and I argued" is one clause.
    """
    ending = sentence[-1] if sentence.endswith(("!", "！", *QUESTIONS)) else ""
    pieces: list[str] = []
    start = begun = ended = 0  # where the present clause begins, where its last part begins, and the one before ends
    stands = False
    for ends, begins in [*(match.span() for match in _CLAUSE.finditer(sentence)), (len(sentence), len(sentence))]:
        alone = _stands_alone(sentence[begun:ends], first=begun == start)
        if begun > start and stands and alone:
            pieces.append(sentence[start:ended])
            start, stands = begun, False
        stands, ended, begun = stands or alone, ends, begins
    pieces.append(sentence[start:])
    pieces = [p for p in (p.strip(" ,") for p in pieces) if _WORDLIKE.search(p)]
    return [p if p[-1] in SPACED + UNSPACED else p + (ending or full_stop(p)) for p in pieces]


def _stands_alone(part: str, *, first: bool) -> bool:
    """Return whether a part of a sentence may be a sentence: it has a verb, and no conjunction makes it depend."""
    said = _TOKEN.findall(part.replace("’", "'").lower())
    if not said:
        return False
    return not said[0].isascii() or (has_verb(said) and not (first and said[0] in _SUBORDINATING))


def clean(sentence: str, addressed: Iterable[str] = ()) -> str:
    """Return the sentence without emoji, interjections around it, and the names of those it is `addressed` to."""
    text = _SPACE.sub(" ", _EMOJI.sub("", sentence).replace("’", "'")).strip()
    low = folded(text)
    for name in addressed:
        if beginning_of(name) in low:
            address = _address(name)
            text = address.at_end.sub("", text)
            text = address.at_start.sub(r"\1", text)
            text = address.after_call.sub(r"\1,", text)
            text = address.before_mark.sub("", text)
            text = address.amid.sub(", ", text)
    text = _TITLE_AT_END.sub("", _TITLE_AT_START.sub("", text))
    shorter = _CLOSING.sub("", _OPENING.sub("", text, count=1)).strip()
    return shorter if re.search(r"\w", shorter) else text


def without_own_name(text: str, speaker: str) -> str:
    """Return a sentence without the speaker's introduction: "I am Ada, I bake" becomes "I bake"."""
    for opening in (f"I am {speaker}, ", f"I'm {speaker}, ", f"My name is {speaker}, "):
        if text.startswith((f"{opening}I ", f"{opening}and I ")):
            return text[len(opening) :].removeprefix("and ")
        if text.startswith(opening):
            return f"I am {text[len(opening) :]}"
    own = text.removeprefix(f"{speaker}, ")
    return f"I am {own}" if own != text and own.startswith(("a ", "an ", "the ")) else text


def is_called(name: str, sentence: str) -> bool:
    """Return whether a sentence addresses a person by name at its start or end: "You kept your word, Ada."."""
    text = _SPACE.sub(" ", sentence.replace("’", "'")).strip()
    address = _address(name)
    return bool(address.at_end.search(text) or address.at_start.match(text))


class _Address(NamedTuple):
    """A person's name and its position in a sentence with single spaces."""

    at_end: re.Pattern[str]
    at_start: re.Pattern[str]
    after_call: re.Pattern[str]
    before_mark: re.Pattern[str]
    amid: re.Pattern[str]


@lru_cache(maxsize=1_024)
def _address(name: str) -> _Address:
    forms = "|".join(re.escape(form) for form in _address_forms(name))
    return _Address(
        re.compile(rf",\s*(?:{forms})\s*(?=[.!?…]+$)"),
        re.compile(rf"^((?:(?:{_CALL}|{_POLITE})[,!]?\s+)*)(?:{forms})\s*[,!]\s*", re.IGNORECASE),
        re.compile(rf"^({_CALL}|{_POLITE})\s+(?:{forms})\b", re.IGNORECASE),
        re.compile(rf",\s*(?:{forms})(?=[:;])"),
        re.compile(rf",\s*(?:{forms}),\s*"),
    )


@lru_cache(maxsize=1_024)
def beginning_of(name: str) -> str:
    """Return what every form of a name begins with, folded."""
    return folded(min(_address_forms(name), key=len))


def folded(text: str) -> str:
    """Text in which what `re.IGNORECASE` takes to be equal is equal."""
    return text.replace("İ", "i").replace("ı", "i").casefold()


def _address_forms(name: str) -> list[str]:
    """Return the forms of a name: the full name, its first word, and that word's first syllable ("Mel")."""
    first = name.split()[0] if name.split() else name
    forms = {name, first, first[:3]} if len(first) > 4 else {name, first}
    return sorted(forms, key=lambda form: (-len(form), form))

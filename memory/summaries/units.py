"""The clauses that a summary is made of: each told in the third person, with the weight of every word it covers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from cogitate.memory.language.endings import has_end, with_end
from cogitate.memory.language.english.address import addressee, clean, without_own_name
from cogitate.memory.language.english.clauses import split_clauses
from cogitate.memory.language.english.courtesies import is_small_talk
from cogitate.memory.language.english.grammar import has_verb
from cogitate.memory.language.english.questions import reported_question
from cogitate.memory.language.english.references import leans_on_somebody, leans_on_something, resolved
from cogitate.memory.language.english.reported import REPORTING_WORDS, third_person
from cogitate.memory.language.english.tense import told_after
from cogitate.memory.language.entities import is_number, is_time, name_words
from cogitate.memory.language.languages import is_english
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.speakers import Speakers
from cogitate.memory.language.text import FUNCTION_WORDS, WHITE_SPACE, normal, stem, words
from cogitate.memory.language.truncation import ELLIPSIS
from cogitate.memory.language.word_count import count_words

Style = Literal["facts", "gist"]

MOST_SENTENCES = 300  # of one text that a summary chooses from; prose of 4,000 characters has a hundred
MAX_SPEAKER = 60  # characters of a name: it is told in the place of each "you", and a text may be full of them

_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"[\w']+")
_MARKS = WHITE_SPACE + "!?.…,;:'-"
_CLOSING_QUOTES = '”"»)]'
_PROMISE = re.compile(
    r"\b(?:I'll|I will|we'll|we will|I'm going to|I'm gonna|promise|let's|invited?|meet|plan(?:ning)? to|agreed to|"
    r"scheduled|deadline|owes?|обеща\w+)\b",
    re.IGNORECASE,
)
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
#: "They say at the mill that it burned": no particular speaker.
_HEARSAY = re.compile(r"^(?:they|people) say (?P<where>(?:at|in|on|around) [^,;.]{2,60}? )?that ", re.IGNORECASE)
_VOW = re.compile(r"^I promise[,:]? (?:that )?I(?:'ll| will) ", re.IGNORECASE)
#: A clause that opens so cannot stand alone, unless a comma brings its main clause.
_SUBORDINATE = frozenset(
    words(
        "if even when whenever because since while although though unless until as especially which who both either "
        "such"
    )
)


class Utterance(NamedTuple):
    """One line of a summary's source: its speaker (empty for an observation), text and game time."""

    speaker: str
    text: str
    minute: int
    listener: str = ""  # the only one spoken to, if that is known


class Weighting(NamedTuple):
    """Weights of a style: extra weight of a name or number, of a promise, and how much brevity counts (0 to 1)."""

    name: float
    promise: float
    brevity: float


WEIGHTINGS: dict[Style, Weighting] = {
    "facts": Weighting(name=8.0, promise=3.0, brevity=0.7),
    "gist": Weighting(name=3.0, promise=1.0, brevity=0.5),
}


class Unit(NamedTuple):
    """A sentence that may stand in a summary."""

    text: str
    size: int  # words
    weights: dict[str, float]  # the words that it covers: weight by stem
    line: int  # index of the line it is from


def first_sentences(text: str) -> list[str]:
    """Return the sentences of a text; where it has more than `MOST_SENTENCES`, the last is all the rest."""
    found = split_sentences(text)
    rest = " ".join(found[MOST_SENTENCES - 1 :])
    return found if len(found) <= MOST_SENTENCES else [*found[: MOST_SENTENCES - 1], rest]


def clauses_of(sentences: Iterable[str]) -> list[str]:
    """Return the clauses of sentences; where there are more than `MOST_SENTENCES`, the last is all the rest."""
    found = [clause for sentence in sentences for clause in split_clauses(sentence)]
    rest = " ".join(found[MOST_SENTENCES - 1 :])
    return found if len(found) <= MOST_SENTENCES else [*found[: MOST_SENTENCES - 1], rest]


def units(lines: Sequence[Utterance], style: Style, minute: int | None = None) -> list[Unit]:
    """Return the units of `lines` in order, without courtesies and without questions that hold no name.

    Of what is said, clauses with a pronoun that nothing in them explains are left out, unless the sentence before does.
    Plans that are over at game time `minute`, if given, are told in the past tense.
    A word weighs the square root of the number of lines it occurs in: repeated topics matter more.
    """
    lines = [line._replace(speaker=line.speaker[:MAX_SPEAKER], listener=line.listener[:MAX_SPEAKER]) for line in lines]
    sentences = [first_sentences(line.text) for line in lines]
    speakers = Speakers(name for line in lines if line.speaker for name in (line.speaker, line.listener) if name)
    names = name_words(s for said in sentences for s in said) | speakers.written
    lines_with: Counter[str] = Counter()
    for line in lines:
        lines_with.update({stem(w) for w in words(line.text) if w not in FUNCTION_WORDS})
    found: list[Unit] = []
    told: set[str] = set()  # tell repeated statements once
    for at, (line, said) in enumerate(zip(lines, sentences, strict=True)):
        clauses = clauses_of(said)
        for before, clause in zip(("", *clauses), clauses, strict=False):
            if is_english(clause):
                text = resolved(clause, before)
                text = _told(text, line, speakers, names) if line.speaker else text
            else:
                text = _quoted(clause, line.speaker)
            if not text or (clause.endswith(ELLIPSIS) and _is_cut_short(clause)):
                continue
            if minute is not None:
                text = told_after(text, minute)
            if not text.endswith('?"'):
                text = _ended(text[0].upper() + text[1:])
            if normal(text) in told:
                continue
            told.add(normal(text))
            weights = _weights(text, lines_with, names, speakers.words, WEIGHTINGS[style])
            if _PROMISE.search(clause.replace("’", "'")):
                weights[f"promise {at}"] = WEIGHTINGS[style].promise
            if weights:
                found.append(Unit(text, count_words(text), weights, at))
    return found


def _quoted(clause: str, speaker: str) -> str:
    """Return what was said in another language than English, with who said it."""
    return f"{speaker}: {with_end(clause)}" if speaker else clause


def _is_cut_short(clause: str) -> bool:
    """Return whether a clause that a limit cut says nothing: "Maud is glad that...", "Maud Fenwick..."."""
    said = [w.lower() for w in _TOKEN.findall(clause)]
    return not has_verb(said) or said[-1] in FUNCTION_WORDS


def _ended(text: str) -> str:
    """Return the text with a full stop in place of its final marks; one closing quote or bracket among them stays."""
    if has_end(text) and text[-1] not in _MARKS + _CLOSING_QUOTES:  # with the mark of another script
        return text
    bare = text.rstrip(_MARKS)
    if not bare or bare[-1] not in _CLOSING_QUOTES:
        return with_end(bare)
    return f"{bare[:-1].rstrip(_MARKS)}{bare[-1]}."


_BARE_VOW = re.compile(r"(?:But |And |Yes, )?I (?:do )?(?:promise|swear|agree)(?: (?:you|it|that))?[.!]?")
#: "A vote is a vote": true by its words alone.
_TAUTOLOGY = re.compile(r"((?:a|an|the) \w+|\w+) (?:is|are|was|were|will be) \1[.!]?", re.IGNORECASE)


def _told(clause: str, line: Utterance, speakers: Speakers, names: Collection[str]) -> str:
    """Return the clause as reported speech, "" if it is not worth reporting or leaves to others what it means."""
    speaker = line.speaker
    called = addressee(speakers, clause, speaker)
    addressed = [name for name in (*speakers.perhaps_in(clause), called) if name not in ("", speaker)]
    text = _VOW.sub("I promised to ", clean(clause, addressed))
    text = without_own_name(text, speaker)
    if _BARE_VOW.fullmatch(text) or _TAUTOLOGY.fullmatch(text):
        return ""
    text = _HEARSAY.sub(r"I heard \g<where>that ", text)
    if is_small_talk(text, speakers):
        return ""
    said = _WORD.findall(text)
    named = any(w in names or _has_digit(w) for w in said if w not in speakers)
    listener = called or line.listener or speakers.other_than(speaker)
    if text.endswith("?"):
        return _asked(text, speaker, listener) if named and len(said) > 2 else ""
    verbal = has_verb([w.lower() for w in _TOKEN.findall(text)])
    opening = next((w for w in map(str.lower, said) if w != "only"), "")
    if opening in _SUBORDINATE and "," not in text:
        return ""
    # A name or a figure is worth more than an "it" that is left open; who is meant must be clear in any case.
    if (not verbal and (not named or len(said) < 2)) or leans_on_somebody(text):
        return ""
    if leans_on_something(text) and not named:
        return ""
    if _CALLS.search(text):
        return f'{speaker} said "{text[0].upper()}{text[1:]}"'
    told = third_person(text, speaker, listener, names)
    return "" if not listener and _YOU.search(told) else told


#: Sentences that no rule retells: with an apparent form of address at the end ("I swear it, my queen."), and gestures.
_CALLS = re.compile(r", (?:my |you )?[a-z]{3,}[.!]*$|^here(?:['’]s| is| are)\b", re.IGNORECASE)


def _asked(question: str, speaker: str, listener: str) -> str:
    """Return a question as reported speech, or as a quote where that is not plain, or leaves open who is meant."""
    told = "" if leans_on_somebody(question) else reported_question(question, speaker, listener)
    if not told or (not listener and _YOU.search(told)):
        return f'{speaker} asked "{question[0].upper()}{question[1:]}"'
    return told


def _weights(
    text: str, lines_with: Counter[str], names: Collection[str], own: Collection[str], style: Weighting
) -> dict[str, float]:
    weights: dict[str, float] = {}
    for written in _WORD.findall(text):
        for part in _parts(written):
            if part.word in own:
                continue
            weight: float = max(lines_with.get(part.key, 0), 0.25) ** 0.5
            if part.numeral or written in names:
                weight += style.name
            elif part.figure:
                weight += 0.3 * style.name
            weights[part.key] = max(weight, weights.get(part.key, 0.0))
    return weights


class _Part(NamedTuple):
    """A word that may weigh something, of a run of letters and digits: two characters of one that has no spaces."""

    word: str
    key: str
    numeral: bool  # it is written with digits
    figure: bool  # it tells a number or a time


@lru_cache(maxsize=65_536)
def _parts(written: str) -> tuple[_Part, ...]:
    numeral = _has_digit(written)
    return tuple(
        _Part(word, stem(word), numeral, is_number(word) or is_time(word))
        for word in words(written)
        if word not in FUNCTION_WORDS and word not in REPORTING_WORDS
    )


@lru_cache(maxsize=65_536)
def _has_digit(written: str) -> bool:
    return any(char.isdigit() for char in written)

"""The clauses that a summary is made of, with the weight of every word that each covers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.language.entities import REPORTING_WORDS, is_number, is_time, name_words
from cogitate.memory.language.languages import ENGLISH, OTHER, UNDETERMINED, languages_of, prevailing_language
from cogitate.memory.language.port import Language, is_courtesy, language_called, language_of
from cogitate.memory.language.quotations import excerpt, without_quotations
from cogitate.memory.language.sentences import has_end, split_sentences
from cogitate.memory.language.talk import Speakers, Speech, Talk, Utterance
from cogitate.memory.language.text import FUNCTION_WORDS, normal, stem, words
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.word_count import count_words
from cogitate.memory.summaries.transcripts import without_directions

MOST_SENTENCES = 300  # of one text that a summary chooses from; prose of 4,000 characters has a hundred
MAX_SPEAKER = 60  # characters of a name: it is told in the place of each "you", and a text may be full of them
NAME = 2.5  # weight of a name or number beyond that of a word
REMARK = 0.5  # share of the weight of plain words in a quote between two: what was done and found goes first
COMMITMENT = 3.0  # weight of a promise, agreement or decision, once in each line

_WORD = re.compile(r"[^\W_]+")
_COMMITMENT = re.compile(
    r"\b(?:(?:I|we)(?:'ll| will)|I'm (?:going to|gonna)|let's|invited?|meet|plan(?:ned|ning)? to|scheduled|deadline|"
    r"owes?|promise[sd]?|agree[sd]?|decide[sd]?|approve[sd]?|refuse[sd]?|withdraw)\b",
    re.IGNORECASE,
)
#: Capitals that name nothing; "May" and "Will" are names, too.
_NO_NAMES = (FUNCTION_WORDS | frozenset(words("since although though unless yesterday today tomorrow tonight"))) - {
    "may",
    "will",
}


class Unit(NamedTuple):
    """A sentence that may stand in a summary."""

    text: str
    size: int  # words
    weights: dict[str, float]  # the words that it covers: weight by stem
    line: int  # index of the line it is from


def first_sentences(text: str) -> list[str]:
    """Return the sentences of a text; where it has more than `MOST_SENTENCES`, the last is all the rest."""
    return _first(split_sentences(text))


def clauses_of(sentences: Iterable[str]) -> list[str]:
    """Return the clauses of sentences; where there are more than `MOST_SENTENCES`, the last is all the rest."""
    return _first([clause for sentence in sentences for clause in language_of(sentence).clauses(sentence)])


def _first(found: list[str]) -> list[str]:
    rest = " ".join(found[MOST_SENTENCES - 1 :])
    return found if len(found) <= MOST_SENTENCES else [*found[: MOST_SENTENCES - 1], rest]


def units(
    lines: Sequence[Utterance], minute: int | None = None, known: Iterable[str] = (), language: str = UNDETERMINED
) -> list[Unit]:
    """Return the units of `lines` in order, without courtesies and without questions that hold no figure.

    Plans that are over at game time `minute`, if given, are told in the past tense. Names `known` keep their capital.
    Speech is quoted in the words of a `language`, or else of that of all lines together.
    A word weighs the square root of the number of lines it occurs in: repeated topics matter more.
    """
    lines, written = [_readable(line) for line in lines], lines
    sentences = [first_sentences(line.text) for line in lines]
    speakers = Speakers(name for line in lines if line.speaker for name in (line.speaker, line.listener) if name)
    written_as = Counter(word for said in sentences for sentence in said for word in _WORD.findall(sentence)[1:])
    found_names = name_words(s for said in sentences for s in said)
    names = frozenset(
        name for name in found_names if name.lower() not in _NO_NAMES and written_as[name] >= written_as[name.lower()]
    )
    firsts = {name.partition(" ")[0] for name in known}
    opening = {word for said in sentences for sentence in said for word in _WORD.findall(sentence)[:1]}
    names |= speakers.written | {word for word in opening & firsts if word.lower() not in _NO_NAMES}
    spoken = prevailing_language((line.text for line in lines), language)
    told_in = spoken if language == UNDETERMINED else language
    talk = Talk(speakers, names, language_called(told_in).quoted, told_in in (ENGLISH, UNDETERMINED))
    lines_with: Counter[str] = Counter()
    for line in lines:
        lines_with.update({stem(w) for w in words(line.text) if w not in FUNCTION_WORDS})
    found: list[Unit] = []
    seen: set[str] = set()  # tell repeated statements once
    for at, (line, said) in enumerate(zip(lines, sentences, strict=True)):
        clauses, answers = clauses_of(said), at > 0 and lines[at - 1].text.endswith("?")
        for before, clause in zip(("", *clauses), clauses, strict=False):
            fluent = line.text == written[at].text
            known_as = _language_of(clause, spoken, speakers)
            if line.speaker and spoken not in (ENGLISH, UNDETERMINED) and is_courtesy(clause, speakers):
                continue
            quote = _cut(clause) if line.is_part else excerpt(clause, line.text)
            tells_day = not line.dated and anchor_days(quote, line.minute) != quote
            when = line.minute if tells_day else None
            speech = Speech(line.speaker, quote, when, line.listener, fluent, answers)
            text = known_as.retold(clause if line.speaker else known_as.resolved(clause, before), speech, talk)
            text = anchor_days(text, line.minute) if line.speaker else text
            text = known_as.told_after(text, minute) if minute is not None else text
            if not text or normal(text) in seen:
                continue
            seen.add(normal(text))
            between_two = line.speaker and (line.listener or speakers.other_than(line.speaker))
            share = REMARK if between_two and without_quotations(text) != text else 1.0
            weights = _weights(text, lines_with, names, speakers.words, share)
            if _COMMITMENT.search(clause.replace("’", "'")):
                weights[f"commitment {at}"] = COMMITMENT
            if weights:
                found.append(Unit(text, count_words(text), weights, at))
    return found


def _cut(part: str) -> str:
    """Return a part of a sentence with an ellipsis where the sentence goes on."""
    return f"{'…' if part[:1].islower() else ''}{part}{'' if has_end(part) else '…'}"


def _language_of(clause: str, spoken: str, speakers: Speakers) -> Language:
    """Return what knows the language of a clause; a few words in Latin letters are in the language `spoken`."""
    in_english = spoken in (ENGLISH, UNDETERMINED)
    if clause.isascii() and in_english:
        return language_called(ENGLISH)
    bare = speakers.without_names(clause)
    is_lost = languages_of(bare)[0] == OTHER and not in_english  # letters alone do not tell it
    return language_called(spoken) if is_lost else language_of(bare, spoken)


def _readable(line: Utterance) -> Utterance:
    """Return a line with names of at most `MAX_SPEAKER` characters, and speech without what a transcript adds."""
    text = without_directions(line.text) if line.speaker else line.text
    return line._replace(speaker=line.speaker[:MAX_SPEAKER], text=text, listener=line.listener[:MAX_SPEAKER])


def _weights(
    text: str, lines_with: Counter[str], names: Collection[str], own: Collection[str], share: float
) -> dict[str, float]:
    weights: dict[str, float] = {}
    for written in _WORD.findall(text):
        for part in _parts(written):
            if part.word in own:
                continue
            weight: float = share * max(lines_with.get(part.key, 0), 0.25) ** 0.5
            if part.numeral or written in names:
                weight += NAME
            elif part.figure:
                weight += 0.3 * NAME
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
    numeral = any(char.isdigit() for char in written)
    return tuple(
        _Part(word, stem(word), numeral, is_number(word) or is_time(word))
        for word in words(written)
        if word not in FUNCTION_WORDS and word not in REPORTING_WORDS
    )

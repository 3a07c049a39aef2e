"""The clauses that a summary is made of, with the weight of every word that each covers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from cogitate.memory.language.entities import is_number, is_time, name_words
from cogitate.memory.language.language import Language
from cogitate.memory.language.languages import (
    ENGLISH,
    OTHER,
    UNDETERMINED,
    function_words_of,
    languages_of,
    prevailing_language,
)
from cogitate.memory.language.port import is_courtesy, language_called, language_of
from cogitate.memory.language.quotations import excerpt, without_quotations
from cogitate.memory.language.sentences import QUESTIONS, has_end, split_sentences
from cogitate.memory.language.talk import Speakers, Speech, Talk, Utterance
from cogitate.memory.language.text import FUNCTION_WORDS, is_unspaced, stem, words
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.word_count import count_words
from cogitate.memory.summaries.superseded import Told, superseded
from cogitate.memory.summaries.transcripts import without_directions

MOST_SENTENCES = 300  # of one text that a summary chooses from; prose of 4,000 characters has a hundred
MAX_SPEAKER = 60  # characters of a name: it is told in the place of each "you", and a text may be full of them
BREVITY = 0.5  # how much the size of a unit counts against it, from 0 to 1
NAME = 2.5  # weight of a name or number beyond that of a word
LEAST = 6  # letters in the content words of a remark: "Yes, that one too." says nothing alone
_LETTERS = 3  # that a number counts as, or a pair of characters that has no spaces around it
SPARE = 0.001  # factor on the weight of spare units: all others go first
REMARK = 0.5  # factor on the weight of plain words in a quote between two: deeds and findings go first

_CLOSING = "\"'”’»」 "
_WORD = re.compile(r"[^\W_]+")


class Unit(NamedTuple):
    """A sentence that may stand in a summary."""

    text: str
    size: int  # words
    weights: dict[str, float]  # the words that it covers: weight by stem
    line: int  # index of the line it is from
    spare: bool = False  # it says little alone: told only if all else fits


def first_sentences(text: str) -> list[str]:
    """Return the sentences of a text; beyond `MOST_SENTENCES`, the last holds all the rest."""
    return _first(split_sentences(text))


def clauses_of(sentences: Iterable[str]) -> list[str]:
    """Return the clauses of sentences; beyond `MOST_SENTENCES`, the last holds all the rest."""
    return _first([clause for sentence in sentences for clause in language_of(sentence).clauses(sentence)])


def _first(found: list[str]) -> list[str]:
    rest = " ".join(found[MOST_SENTENCES - 1 :])
    return found if len(found) <= MOST_SENTENCES else [*found[: MOST_SENTENCES - 1], rest]


def units(lines: Sequence[Utterance], minute: int | None = None, language: str = UNDETERMINED) -> list[Unit]:
    """Return the units of `lines` in order, without courtesies; questions that hold no figure are spare.

    A remark that says nothing alone is told with the question that it answers, or is spare. An announcement is dropped
    if a later line calls it off, moves it, or mentions it when it is over. Plans that are over at game time `minute`,
    if given, are told in the past tense. Speech is quoted in the words of a `language`, or else of that of all lines
    together.
    A word weighs the square root of the number of lines it occurs in: repeated topics matter more.
    """
    lines, written = [readable(line) for line in lines], lines
    sentences = [first_sentences(line.text) for line in lines]
    weighing = Weighing(lines, sentences)
    speakers, names = weighing.speakers, weighing.names
    spoken = prevailing_language((line.text for line in lines), language)
    told_in = spoken if language == UNDETERMINED else language
    talk = Talk(speakers, names, language_called(told_in).quoted, told_in in (ENGLISH, UNDETERMINED))
    function_words = FUNCTION_WORDS | function_words_of(spoken)
    found: list[Unit] = []
    told: list[Told] = []
    for at, (line, said) in enumerate(zip(lines, sentences, strict=True)):
        clauses, fluent = clauses_of(said), line.text == written[at].text
        listener = line.listener or speakers.other_than(line.speaker)
        for before, clause in zip(("", *clauses), clauses, strict=False):
            known_as = _language_of(clause, spoken, speakers)
            quote = _cut(clause) if line.is_part else excerpt(clause, line.text)
            when = line.minute if not line.dated and anchor_days(quote, line.minute) != quote else None
            is_polite = line.speaker != "" and is_courtesy(clause, speakers)
            text, is_spare = "", False
            if not line.speaker or (not is_polite and _says_enough(clause, function_words, speakers)):
                speech = Speech(line.speaker, quote, when, line.listener, fluent)
                text = known_as.retold(clause, speech, talk)
                text = anchor_days(text, line.minute) if line.speaker else text
                text = known_as.told_after(text, minute) if minute is not None else text
            answers = not text and not before and (not is_polite or known_as.accepts(clause))
            if answers and (asked := _question(found, lines, at)):
                is_spare = found[-1].spare
                del found[-1], told[-1]
                text = f"{asked} {talk.quoted(quote, line.speaker, listener, False, when)}"
            elif not text and line.speaker and fluent and not is_polite and not _is_broken_off(line, quote):
                text, is_spare = talk.quoted(quote, line.speaker, listener, False, when), True
            share = REMARK if line.speaker and listener and without_quotations(text) != text else 1.0
            if weights := weighing.of(text, share):
                weights = {key: weight * SPARE for key, weight in weights.items()} if is_spare else weights
                found.append(Unit(text, count_words(text), weights, at, is_spare))
                told.append(Told(anchor_days(clause, line.minute), line.minute, at))
    gone = superseded(told)
    return [unit for index, unit in enumerate(found) if index not in gone]


def _is_broken_off(line: Utterance, quote: str) -> bool:
    return line.is_part or quote.rstrip(".").endswith(("-", "–", "—"))


def _says_enough(clause: str, function_words: Collection[str], speakers: Speakers) -> bool:
    """Return whether what is said has two words of its own and as many letters as two short ones."""
    own = {w for w in words(clause) if w not in function_words and not speakers.is_part_of_name(w)}
    return len(own) > 1 and sum(_LETTERS if w[0].isdigit() or is_unspaced(w[0]) else len(w) for w in own) >= LEAST


def _question(found: Sequence[Unit], lines: Sequence[Utterance], at: int) -> str:
    """Return the other speaker's question, as told, that ends the line before the one at an index, or ""."""
    if not found or found[-1].line != at - 1 or lines[at].speaker in ("", lines[at - 1].speaker):
        return ""
    return found[-1].text if found[-1].text.rstrip(_CLOSING).endswith(QUESTIONS) else ""


def _cut(part: str) -> str:
    """Return a part of a sentence with an ellipsis where the sentence goes on."""
    return f"{'…' if part[:1].islower() else ''}{part}{'' if has_end(part) else '…'}"


def _language_of(clause: str, spoken: str, speakers: Speakers) -> Language:
    """Return the language of a clause; a few words in Latin letters are taken to be in `spoken`."""
    in_english = spoken in (ENGLISH, UNDETERMINED)
    if clause.isascii() and in_english:
        return language_called(ENGLISH)
    bare = speakers.without_names(clause)
    is_lost = languages_of(bare)[0] == OTHER and not in_english  # letters alone do not tell it
    return language_called(spoken) if is_lost else language_of(bare, spoken)


def readable(line: Utterance) -> Utterance:
    """Return a line with names of at most `MAX_SPEAKER` characters, and speech without what a transcript adds."""
    text = without_directions(line.text) if line.speaker else line.text
    return line._replace(speaker=line.speaker[:MAX_SPEAKER], text=text, listener=line.listener[:MAX_SPEAKER])


class Weighing:
    """The weights of words in a text: names and numbers most, then words that many lines share."""

    def __init__(self, lines: Sequence[Utterance], sentences: Sequence[Sequence[str]]) -> None:
        self.speakers = Speakers(n for line in lines if line.speaker for n in (line.speaker, line.listener) if n)
        written_as = Counter(word for said in sentences for sentence in said for word in _WORD.findall(sentence)[1:])
        found = name_words(s for said in sentences for s in said)
        self.names = frozenset(name for name in found if written_as[name] >= written_as[name.lower()])
        self._lines_with: Counter[str] = Counter()
        for line in lines:
            self._lines_with.update({stem(w) for w in words(line.text) if w not in FUNCTION_WORDS})

    def of(self, text: str, share: float = 1.0) -> dict[str, float]:
        """Return the weights of a text by stem.

        Args:
            share: factor on the weight of plain words.
        """
        weights: dict[str, float] = {}
        for written in _WORD.findall(text):
            numeral = any(char.isdigit() for char in written)
            for word, key in _stems(written):
                if word in self.speakers.words:
                    continue
                weight: float = share * max(self._lines_with.get(key, 0), 0.25) ** 0.5
                if numeral or written in self.names:
                    weight += NAME
                elif is_number(word) or is_time(word):
                    weight += 0.3 * NAME
                weights[key] = max(weight, weights.get(key, 0.0))
        return weights


@lru_cache(maxsize=65_536)
def _stems(written: str) -> tuple[tuple[str, str], ...]:
    """Return the words of a run of letters and digits with their stems: two characters of one that has no spaces."""
    return tuple((word, stem(word)) for word in words(written) if word not in FUNCTION_WORDS)

"""Splitting of text that is too long for a summary: text without full stops or without spaces.

A summary of whole sentences would otherwise never include it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain, groupby

from cogitate.memory.language.talk import Utterance
from cogitate.memory.language.word_count import LONG, count_words
from cogitate.memory.summaries.units import clauses_of, first_sentences

LEAST_PART = 10  # fewest words of a part of a sentence


def sentence_in_parts(line: Utterance, most: int) -> list[Utterance]:
    """Return a sentence of at most `most` words whole, else in parts of at most half as many: one of them fits.

    Parts of a few words say nothing, so with little room the sentence is not split.
    """
    left = room = most // 2
    if count_words(line.text) <= most or room < LEAST_PART:
        return [line]
    parts: list[list[str]] = [[]]
    for piece in chain.from_iterable(_pieces(word, room) for word in line.text.split()):
        size = count_words(piece)
        if size > left:
            parts.append([])
            left = room
        parts[-1].append(piece)
        left -= size
    return [line._replace(text=" ".join(part), is_part=True) for part in parts]


def line_in_parts(line: Utterance, most: int) -> list[Utterance]:
    """Return a line whole if each of its clauses has at most `most` words, else with longer clauses in parts."""
    if count_words(line.text) <= most:
        return [line]
    clauses = [(clause, count_words(clause) > most) for clause in clauses_of(first_sentences(line.text))]
    if not any(long for _, long in clauses):
        return [line]
    found: list[Utterance] = []
    for long, run in groupby(clauses, key=lambda clause: clause[1]):
        told = line._replace(text=" ".join(clause for clause, _ in run))
        found += sentence_in_parts(told, most) if long else [told]
    return found


def end_of_word(word: str, most: int) -> str:
    """Return the end of a word that counts as more than `most` words."""
    sizes = range(1, min(len(word), most * LONG) + 1)
    return word[len(word) - bisect_right(sizes, most, key=lambda size: count_words(word[-size:])) :]


def _pieces(word: str, most: int) -> list[str]:
    """Return a word that counts as at most `most` words, or else its pieces of that size."""
    pieces = []
    while count_words(word) > most:
        sizes = range(1, min(len(word), most * LONG) + 1)
        end = bisect_right(sizes, most, key=lambda size: count_words(word[:size]))
        pieces.append(word[:end])
        word = word[end:]
    return [*pieces, word]

"""The long-term summary of an owner: token estimates, and ways to write new memories into it.

What is here needs no model. It is what stands when a model was not asked or failed, and what cuts a summary that is too
long whoever wrote it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from memory.entry import Entry
from memory.language.references import resolved
from memory.language.sentences import split_sentences
from memory.language.times import anchor_days
from memory.summaries.conversations import parse_line
from memory.summaries.critical import critical_value, share_of_words
from memory.summaries.summary import choose_units
from memory.summaries.units import WEIGHTINGS, Unit, Utterance, first_sentences, units

LONG = 16  # characters: a longer word counts as several
_PART = -1  # in place of the game time of a line that is a part of a sentence
_LEAST_PART = 10  # words of a part of a sentence that has no room as a whole
#: Characters of scripts that write no spaces count as a word each: Thai to Khmer, kana, Han.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: 1.3 for each word (window design), rounded up.

    A word is what stands between spaces. Characters of scripts without spaces count as a word each, and a word of more
    than 16 characters counts once for every 16 begun.
    """
    return tokens_of_words(count_words(text))


def tokens_of_words(words: int) -> int:
    """Return the tokens of `words` words."""
    return -(-words * 13 // 10)


def words_of_tokens(tokens: int) -> int:
    """Return the most words that take `tokens` tokens."""
    return tokens * 10 // 13


def _words_in(text: str) -> int:
    """Return the words of a text as `estimate_tokens` counts them; two texts joined by a space have the sum of both."""
    if text.isascii():
        return sum(-(-len(piece) // LONG) for piece in text.split())
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return unspaced + sum(-(-len(piece) // LONG) for piece in spaced.split())


#: The same, remembered: an owner's entries are counted at every boundary.
count_words = lru_cache(maxsize=65_536)(_words_in)


def fold(summary: str, entries: Iterable[Entry], names: Mapping[str, str], room: int, *, now: int = 0) -> str:
    """Return a summary of at most `room` tokens that covers the old one and the entries, in order of time.

    Sentences on objectives, relationships, possessions and promises go first, then what says most in the fewest words.
    "" where there is nothing to tell, or not one sentence fits. The same input gives the same text. What is over at
    game time `now`, or when the last entry was formed, is not told as coming.
    """
    return _folded(summary, entries, names, room, now).text


class _Folded(NamedTuple):
    """A summary, and the tokens of the parts of sentences that it leaves out though it tells others of them."""

    text: str
    cut: int


def _folded(summary: str, entries: Iterable[Entry], names: Mapping[str, str], room: int, now: int) -> _Folded:
    most = words_of_tokens(max(0, room))
    lines = [part for sentence in split_sentences(summary) for part in _parts(Utterance("", sentence, 0), most)]
    ordered = sorted(entries, key=lambda e: (e.minute, e.number))
    for entry in ordered:
        said = parse_line(entry, names)
        sentences = first_sentences(said.text)
        told = [resolved(sentence, before) for before, sentence in zip(("", *sentences), sentences, strict=False)]
        dated = [said._replace(text=anchor_days(sentence, entry.minute)) for sentence in told]
        lines += [part for sentence in dated for part in _parts(sentence, most)]
    brevity = WEIGHTINGS["facts"].brevity
    minute = max(now, ordered[-1].minute) if ordered else now or None
    candidates = [_weighed(unit, brevity) for unit in units(lines, "facts", minute)]
    words = words_of_tokens(max(0, room))
    while lines and words > 0:
        chosen = choose_units(candidates, words, brevity)
        text = " ".join(unit.text for unit in chosen)
        size = estimate_tokens(text)
        if size <= room:
            told_of = {unit.line for unit in chosen}
            left_out = (line.text for at, line in enumerate(lines) if line.minute == _PART and at not in told_of)
            return _Folded(text, tokens_of_words(sum(map(count_words, left_out))))
        words = min(words - 1, words * room // size)
    return _Folded("", 0)


def fold_or_cut(
    summary: str, entries: Sequence[Entry], names: Mapping[str, str], room: int, *, now: int = 0
) -> tuple[str, int]:
    """Return what `fold` returns, or else the newest of all the text that fits, and the tokens that were cut off.

    A sentence that has no room as a whole is cut, too, where not all of its parts are told.
    """
    text, cut = _folded(summary, entries, names, room, now)
    if text:
        return text, cut
    whole = f"{summary} {format_entries(entries, names)}".strip()
    text = cut_oldest(whole, room)
    return text, estimate_tokens(whole) - estimate_tokens(text)


def _parts(line: Utterance, most: int) -> list[Utterance]:
    """Return a sentence of at most `most` words, or else its parts of at most half of that: one of them has room.

    What nobody ends with a full stop, or writes without spaces, would otherwise never be told. Parts of a few words
    tell nothing, so where there is little room the sentence stays as it is.
    """
    left = room = most // 2
    if count_words(line.text) <= most or room < _LEAST_PART:
        return [line]
    parts: list[list[str]] = [[]]
    for piece in chain.from_iterable(_pieces(word, room) for word in line.text.split()):
        size = _words_in(piece)
        if parts[-1] and size > left:
            parts.append([])
            left = room
        parts[-1].append(piece)
        left -= size
    return [line._replace(text=" ".join(part), minute=_PART) for part in parts]


def _pieces(word: str, most: int) -> list[str]:
    """Return a word that counts as at most `most` words, or else its pieces of that size."""
    pieces = []
    while _words_in(word) > most:
        sizes = range(1, min(len(word), most * LONG) + 1)
        end = bisect_right(sizes, most, key=lambda size: _words_in(word[:size]))
        pieces.append(word[:end])
        word = word[end:]
    return [*pieces, word]


def _weighed(unit: Unit, brevity: float) -> Unit:
    """Return the unit with more weight for facts critical to the window design, and less for rules and colour.

    It is as long as its tokens say: a sentence without spaces is not one word.
    """
    unit = unit._replace(size=count_words(unit.text))
    share, value = share_of_words(unit.text), critical_value(unit.text)
    weights = unit.weights if share == 1.0 else {key: share * weight for key, weight in unit.weights.items()}
    if value and share == 1.0:
        weights = weights | {f"critical {unit.text}": value * unit.size**brevity}
    return unit._replace(weights=weights)


def format_entries(entries: Iterable[Entry], names: Mapping[str, str]) -> str:
    """Return the entries as text, one after the other, with their speakers and with days as numbers."""
    lines = [(parse_line(entry, names), entry) for entry in sorted(entries, key=lambda e: (e.minute, e.number))]
    texts = [(f"{said.speaker}: " if said.speaker else "") + anchor_days(said.text, e.minute) for said, e in lines]
    return " ".join(text for text in texts if text)


def cut_oldest(text: str, room: int) -> str:
    """Return the newest part of a text that fits in `room` tokens: sentences if one fits, else words, else letters."""
    if estimate_tokens(text) <= room:
        return text
    sentences = split_sentences(text)
    said = (sentences[-1] if sentences else text).split()
    return " ".join(_newest(sentences, room) or _newest(said, room)) or _end_of(said[-1], words_of_tokens(room))


def _end_of(word: str, most: int) -> str:
    """Return the end of a word that counts as more than `most` words."""
    sizes = range(1, min(len(word), most * LONG) + 1)
    return word[len(word) - bisect_right(sizes, most, key=lambda size: _words_in(word[-size:])) :]


def _newest(parts: Sequence[str], room: int) -> Sequence[str]:
    """Return as many of the last parts of a text as fit in `room` tokens."""
    left, first = words_of_tokens(room), len(parts)
    while first and (left := left - _words_in(parts[first - 1])) >= 0:
        first -= 1
    return parts[first:]

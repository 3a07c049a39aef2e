"""The long-term summary of an owner: token estimates, and ways to write new memories into it.

What is here needs no model. It is what stands when a model was not asked or failed, and what cuts a summary that is too
long whoever wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from memory.entry import Entry
from memory.language.references import resolved
from memory.language.sentences import split_sentences
from memory.language.times import anchor_days
from memory.summaries.conversations import parse_line
from memory.summaries.critical import critical_value, share_of_words
from memory.summaries.summary import choose_units
from memory.summaries.units import MOST_SENTENCES, WEIGHTINGS, Unit, Utterance, units

LONG = 16  # characters: a longer word counts as several
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
    lines = [Utterance("", sentence, 0) for sentence in split_sentences(summary)]
    ordered = sorted(entries, key=lambda e: (e.minute, e.number))
    for entry in ordered:
        said = parse_line(entry, names)
        sentences = split_sentences(said.text)[:MOST_SENTENCES]
        told = [resolved(sentence, before) for before, sentence in zip(("", *sentences), sentences, strict=False)]
        lines += [said._replace(text=anchor_days(sentence, entry.minute)) for sentence in told]
    brevity = WEIGHTINGS["facts"].brevity
    minute = max(now, ordered[-1].minute) if ordered else now or None
    candidates = [_weighed(unit, brevity) for unit in units(lines, "facts", minute)]
    words = words_of_tokens(max(0, room))
    while lines and words > 0:
        text = " ".join(unit.text for unit in choose_units(candidates, words, brevity))
        size = estimate_tokens(text)
        if size <= room:
            return text
        words = min(words - 1, words * room // size)
    return ""


def _weighed(unit: Unit, brevity: float) -> Unit:
    """Return the unit with more weight for facts critical to the window design, and less for rules and colour."""
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
    """Return the newest part of a text that fits in `room` tokens: whole sentences if one fits, else whole words."""
    if estimate_tokens(text) <= room:
        return text
    sentences = split_sentences(text)
    kept = _newest(sentences, room) or _newest((sentences[-1] if sentences else text).split(), room)
    return " ".join(kept)


def _newest(parts: Sequence[str], room: int) -> Sequence[str]:
    """Return as many of the last parts of a text as fit in `room` tokens."""
    left, first = words_of_tokens(room), len(parts)
    while first and (left := left - _words_in(parts[first - 1])) >= 0:
        first -= 1
    return parts[first:]

"""The long-term summary of an owner: token estimates, and ways to write new memories into it.

It needs no model: it writes summaries when a model was not asked or failed, and cuts every summary that is too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cogitate.memory.entry import Entry
from cogitate.memory.language.languages import UNDETERMINED
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.language.talk import Utterance
from cogitate.memory.language.times import anchor_days
from cogitate.memory.language.word_count import count_words
from cogitate.memory.summaries.conversations import parse_line
from cogitate.memory.summaries.critical import critical_value, share_of_words
from cogitate.memory.summaries.parts import end_of_word, sentence_in_parts
from cogitate.memory.summaries.summary import choose_units
from cogitate.memory.summaries.units import BREVITY, Unit, first_sentences, units

_ASKED = 0.8  # share of the bound that a model is asked for
_TOKENS_OF_WORD = 2
_BESIDES = 100  # tokens of JSON and brief reasoning


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: 1.3 for each word (window design), rounded up."""
    return tokens_of_words(count_words(text))


def tokens_of_words(words: int) -> int:
    """Return the tokens of `words` words."""
    return -(-words * 13 // 10)


def words_of_tokens(tokens: int) -> int:
    """Return the most words that take `tokens` tokens."""
    return tokens * 10 // 13


def fold(
    summary: str,
    entries: Iterable[Entry],
    names: Mapping[str, str],
    room: int,
    *,
    now: int = 0,
    language: str = UNDETERMINED,
) -> str:
    """Return a summary of at most `room` tokens that covers the old one and the entries, in order of time.

    Sentences on objectives, relationships, possessions and promises go first, then what says most in the fewest words.
    "" if there is nothing to tell, or no sentence fits. The same input gives the same text. Plans that are over
    at game time `now`, or at the last entry, are told in the past tense. Speech is quoted in the words of `language`.
    """
    return _folded(summary, entries, names, room, now, language).text


class _Folded(NamedTuple):
    """A summary, and the tokens that it cuts from sentences of which it tells other parts."""

    text: str
    cut: int


def _folded(
    summary: str, entries: Iterable[Entry], names: Mapping[str, str], room: int, now: int, language: str
) -> _Folded:
    most = words_of_tokens(max(0, room))
    old = [Utterance("", sentence, 0) for sentence in split_sentences(summary)]
    lines = [part for sentence in old for part in sentence_in_parts(sentence, most)]
    ordered = sorted(entries, key=lambda e: (e.minute, e.number))
    for entry in ordered:
        said = parse_line(entry, names)
        sentences = first_sentences(said.text)
        told = sentences if said.speaker else _standing_alone(sentences, entry.minute, language)
        each = (said._replace(text=sentence, dated=False) for sentence in told)
        lines += [part for sentence in each for part in sentence_in_parts(sentence, most)]
    minute = max(now, ordered[-1].minute) if ordered else now or None
    candidates = [_weighed(unit) for unit in units(lines, minute, language=language) if not unit.spare]
    words = words_of_tokens(max(0, room))
    while lines and words > 0:
        chosen = choose_units(candidates, words)
        text = " ".join(unit.text for unit in chosen)
        size = estimate_tokens(text)
        if size <= room:
            told_of = {unit.line for unit in chosen}
            left_out = (line.text for at, line in enumerate(lines) if line.is_part and at not in told_of)
            return _Folded(text, tokens_of_words(sum(map(count_words, left_out))))
        words = min(words - 1, words * room // size)
    return _Folded("", 0)


def _standing_alone(sentences: Sequence[str], minute: int, language: str) -> list[str]:
    """Return an observation's sentences with days as numbers, to be read on a later day."""
    return [anchor_days(sentence, minute, around=language) for sentence in sentences]


def fold_or_cut(
    summary: str,
    entries: Sequence[Entry],
    names: Mapping[str, str],
    room: int,
    *,
    now: int = 0,
    language: str = UNDETERMINED,
) -> tuple[str, int]:
    """Return what `fold` returns, or else the newest of all the text that fits, and the tokens that were cut off.

    A sentence too long to fit whole counts as cut if some of its parts are not told.
    """
    text, cut = _folded(summary, entries, names, room, now, language)
    if text:
        return text, cut
    whole = f"{summary} {format_entries(entries, names)}".strip()
    text = cut_oldest(whole, room)
    said = whole or " ".join(entry.text for entry in entries)  # marks alone have no words to tell
    return text, estimate_tokens(said) - estimate_tokens(text)


def _weighed(unit: Unit) -> Unit:
    """Return the unit with more weight for facts critical to the window design, and less for rules and colour."""
    share, value = share_of_words(unit.text), critical_value(unit.text)
    weights = unit.weights if share == 1.0 else {key: share * weight for key, weight in unit.weights.items()}
    if value and share == 1.0:
        weights = weights | {f"critical {unit.text}": value * unit.size**BREVITY}
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
    return " ".join(_newest(sentences, room) or _newest(said, room)) or end_of_word(said[-1], words_of_tokens(room))


def _newest(parts: Sequence[str], room: int) -> Sequence[str]:
    """Return as many of the last parts of a text as fit in `room` tokens."""
    left, first = words_of_tokens(room), len(parts)
    while first and (left := left - count_words(parts[first - 1])) >= 0:
        first -= 1
    return parts[first:]


class SummarySize(NamedTuple):
    """The size of one kind of summary: one number determines the words to ask for, the tokens to allow and the bound.

    Models miscount words, so the bound is a quarter above the requested words. A word may take two tokens (names, other
    languages), and JSON and brief reasoning take some more.
    """

    bound: int  # tokens by `estimate_tokens`: 1.3 for each word; no longer summary is stored

    @property
    def words(self) -> int:
        """Return the number of words to request from a model."""
        return max(10, int(words_of_tokens(self.bound) * _ASKED))

    @property
    def output_cap(self) -> int:
        """Return the tokens that a model's answer may have."""
        return _TOKENS_OF_WORD * words_of_tokens(self.bound) + _BESIDES

    def fits(self, text: str) -> bool:
        """Return whether a text is within the bound."""
        return estimate_tokens(text) <= self.bound

    def cut(self, text: str) -> tuple[str, int]:
        """Return the newest part of a text within the bound, whole sentences if one fits, and the tokens cut off."""
        kept = cut_oldest(text, self.bound)
        return kept, estimate_tokens(text) - estimate_tokens(kept)

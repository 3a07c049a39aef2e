"""Importance from 1 to 10 without a model: a rule of the streams design, and a learner from the run's paid ratings.

For each entry the learner adds up three distributions over the ten ratings: the ratings that the run's rater is
expected to give to texts of that class (`rating_habits`), those that it has given to such texts, and those of the
nearest texts rated before (Nadaraya–Watson kernel regression, on distributions). The median of the sum, which has the
least absolute error, is the prediction; its expected absolute error decides which entries deserve a call. The learner
takes only paid ratings, at boundaries and in their order, so a replay of a run learns the same.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

import msgspec

from cogitate.memory.entry import Entry
from cogitate.memory.language.port import changes_a_life, language_of
from cogitate.memory.language.text import normal, stems
from cogitate.memory.rating_habits import RATINGS, expected_shares, posterior, uncertainty

_MAX_TEXTS = 500  # rated texts kept; the least recently rated leaves first
_MOST_WORDS = 200  # of a text; later ones hardly change its importance
_MAX_RATINGS = 16  # kept per text, the newest
_NEIGHBOURS = 25
_LEAST_SIMILAR = 0.15
_LEAST_SHARED = 0.99 * _LEAST_SIMILAR**2  # of a text's rarity, to be similar enough; 1% for rounding
_SHARPNESS = 2.5  # power of the cosine in a neighbour's weight
_SAME_OWNER = 3.0  # an owner rates like itself
_SAME_TEXT = 2.0  # … even more so the same text
_PRIOR = 2.0  # weight of the class against neighbours of weight 1
_PRIOR_COUNT = 60.0  # ratings of a class that its usual distribution is worth
_ERROR_COUNT = 15.0
_WINDOW = 200  # estimates among which an entry must stand out to deserve a call
_ADVANCE = 9  # calls that may be made ahead of the share, since early ratings teach most
_CORRECTION = 20.0  # calls behind the share at which the whole window deserves one

#: Upper bounds of the leanings of the classes of observations, and of those of reflections and plans.
_SEEN_EDGES = (1.9, 2.6, 3.2, 3.8, 4.4, 5.0)
_THOUGHT_EDGES = (3.8, 4.6)


def rate_by_rule(entry: Entry) -> int:
    """Return the importance by the streams design (task 4): 5, adjusted by type, words, number of subjects, source."""
    score = 5 + {"reflection": 2, "plan": 1}.get(entry.type, 0)
    content = entry.text.lower()
    score += "important" in content or "significant" in content
    score += "relationship" in content or "friend" in content
    score += "learned" in content or "realized" in content
    score += len(entry.subjects) > 2
    score += entry.source == "dialogue"
    return min(10, max(1, score))


class ImportanceEstimate(NamedTuple):
    """A predicted rating from 1 to 10 and its expected absolute error."""

    rating: int
    error: float


class RatedText(msgspec.Struct):
    """A rated text with its newest ratings and their owners, oldest first."""

    kind: str
    stems: tuple[str, ...]
    ratings: list[tuple[str, int]] = msgspec.field(default_factory=list)


class RatingState(msgspec.Struct):
    """The bounded state of the learner, which JSON and msgpack can hold."""

    texts: dict[str, RatedText] = msgspec.field(default_factory=dict)  # by kind and exact key, oldest rating first
    given: dict[str, list[int]] = msgspec.field(default_factory=dict)  # per class, the count of each rating
    errors: dict[str, tuple[float, float]] = msgspec.field(default_factory=dict)  # per class, sums: actual, expected
    recent: list[float] = msgspec.field(default_factory=list)  # latest expected errors
    considered: int = 0
    called: int = 0


class Ratings:
    """A learner that predicts ratings from those of the run so far. Not thread-safe: the tick loop owns it."""

    def __init__(self, state: RatingState | None = None) -> None:
        self.state = state or RatingState()
        self._index: dict[str, dict[str, None]] = {}  # kind and stem -> keys of texts; derived, never stored
        self._habits = posterior(self.state.given)  # of this rater; derived
        for key, text in self.state.texts.items():
            self._add_to_index(key, text)

    def known(self, owner: str | None, entry: Entry) -> int | None:
        """Return the newest rating that `owner` (None: any owner) got for exactly this text, or None."""
        text = self.state.texts.get(_key(entry))
        if text is None:
            return None
        return next((rating for whose, rating in reversed(text.ratings) if owner in (None, whose)), None)

    def estimate(self, owner: str, entry: Entry) -> ImportanceEstimate:
        """Return the predicted rating and its expected error, without learning anything."""
        stemmed = frozenset(stems(entry.text, _MOST_WORDS))
        group = _class(owner, entry, stemmed)
        rating, error = self._expected(owner, entry, stemmed, group)
        actual, expected = self.state.errors.get(group, (0.0, 0.0))
        return ImportanceEstimate(rating, error * math.sqrt((actual + _ERROR_COUNT) / (expected + _ERROR_COUNT)))

    def deserves_call(self, estimate: ImportanceEstimate, share: float) -> bool:
        """Return whether this entry is among the `share` (0 to 1) of entries whose rating is worth a call.

        Counts the entry as considered, and as called if the answer is yes. An entry must stand out among the last
        200 estimates; calls never exceed `share` of the considered entries by more than 10.
        """
        state = self.state
        state.considered += 1
        if share <= 0:
            return False
        state.recent.append(round(estimate.error, 4))
        del state.recent[:-_WINDOW]
        behind = share * state.considered - state.called  # calls
        rank = int(min(1.0, max(0.0, share + behind / _CORRECTION)) * len(state.recent))
        ordered = sorted(state.recent)
        threshold = ordered[-1 - rank] if rank < len(ordered) else 0.0
        deserves = rank > 0 and round(estimate.error, 4) >= threshold and behind > -_ADVANCE
        state.called += deserves
        return deserves

    def learn(self, owner: str, entry: Entry, rating: int) -> None:
        """Learn a rating that a model gave, clamped to 1 to 10."""
        rating = min(10, max(1, rating))
        stemmed = frozenset(stems(entry.text, _MOST_WORDS))
        group = _class(owner, entry, stemmed)
        predicted, expected = self._expected(owner, entry, stemmed, group)
        actual_sum, expected_sum = self.state.errors.get(group, (0.0, 0.0))
        self.state.errors[group] = (actual_sum + abs(rating - predicted), round(expected_sum + expected, 6))
        self.state.given.setdefault(group, [0] * RATINGS)[rating - 1] += 1
        self._habits = posterior(self.state.given)
        key = _key(entry)
        text = self.state.texts.pop(key, None)
        if text is None:
            text = RatedText(_kind(entry), tuple(sorted(stemmed)))
            self._add_to_index(key, text)
        text.ratings.append((owner, rating))
        del text.ratings[:-_MAX_RATINGS]
        self.state.texts[key] = text
        if len(self.state.texts) > _MAX_TEXTS:
            oldest = next(iter(self.state.texts))
            self._remove_from_index(oldest, self.state.texts.pop(oldest))

    def _expected(self, owner: str, entry: Entry, stemmed: frozenset[str], group: str) -> tuple[int, float]:
        shares = self._distribution(owner, entry, stemmed, group)
        half = sum(shares) / 2
        total, median = 0.0, 10
        for rating, share in enumerate(shares, 1):
            total += share
            if total >= half:
                median = rating
                break
        spread = sum(share * abs(rating - median) for rating, share in enumerate(shares, 1)) / (2 * half)
        return median, spread * uncertainty(group)

    def _distribution(self, owner: str, entry: Entry, stemmed: frozenset[str], group: str) -> list[float]:
        given = self.state.given.get(group, [0] * RATINGS)
        weight = _PRIOR / (_PRIOR_COUNT + sum(given))
        usual = expected_shares(group, self._habits)
        shares = [weight * (_PRIOR_COUNT * share + count) for share, count in zip(usual, given, strict=True)]
        exact = _key(entry)
        for similarity, key in self._nearest(_kind(entry), stemmed):
            counts: dict[tuple[str, int], int] = {}
            for rated in self.state.texts[key].ratings:
                counts[rated] = counts.get(rated, 0) + 1
            for (whose, rating), count in counts.items():
                near = similarity**_SHARPNESS * count**0.7  # a rating is no surer for each repetition
                if whose == owner:
                    near *= _SAME_OWNER * (_SAME_TEXT if key == exact else 1.0)
                shares[rating - 1] += near
        return shares

    def _nearest(self, kind: str, stemmed: frozenset[str]) -> list[tuple[float, str]]:
        """Return the most similar rated texts by cosine of inverse document frequencies, best first, ties by text."""
        total = len(self.state.texts)
        rarity = {s: self._rarity(kind, s, total) for s in sorted(stemmed)}
        overlap: dict[str, float] = {}
        for stem, value in rarity.items():
            for key in self._index.get(f"{kind} {stem}", ()):
                overlap[key] = overlap.get(key, 0.0) + value
        norm = sum(rarity.values())
        nearest: list[tuple[float, str]] = []
        for key, common in overlap.items():
            if common < _LEAST_SHARED * norm:  # too dissimilar, even if the other text has no further stems
                continue
            others = self.state.texts[key].stems
            for stem in others:
                if stem not in rarity:
                    rarity[stem] = self._rarity(kind, stem, total)
            other = sum(rarity[stem] for stem in others)
            similarity = common / math.sqrt(norm * other)
            if similarity >= _LEAST_SIMILAR:
                nearest.append((-similarity, key))
        return [(-negative, key) for negative, key in sorted(nearest)[:_NEIGHBOURS]]

    def _rarity(self, kind: str, stem: str, total: int) -> float:
        return math.log(1 + (total + 1) / (len(self._index.get(f"{kind} {stem}", ())) + 0.5)) ** 2

    def _add_to_index(self, key: str, text: RatedText) -> None:
        for stem in text.stems:
            self._index.setdefault(f"{text.kind} {stem}", {})[key] = None

    def _remove_from_index(self, key: str, text: RatedText) -> None:
        for stem in text.stems:
            holders = self._index[f"{text.kind} {stem}"]
            del holders[key]
            if not holders:
                del self._index[f"{text.kind} {stem}"]


def _kind(entry: Entry) -> str:
    if entry.type == "observation":
        return "seen"
    return "thought" if entry.type in {"reflection", "plan"} else "talk"


def _key(entry: Entry) -> str:
    return f"{_kind(entry)} {normal(entry.text)}"


def _class(owner: str, entry: Entry, stemmed: frozenset[str]) -> str:
    kind = _kind(entry)
    if kind != "thought" and changes_a_life(entry.text):
        return "grave"
    if kind == "talk":
        return kind
    name = stems(owner.partition(":")[2] or owner)
    lean = language_of(entry.text).leaning(stemmed, bool(name) and name[0] in stemmed)
    return f"{kind}{bisect_left(_SEEN_EDGES if kind == 'seen' else _THOUGHT_EDGES, lean + 1e-9)}"

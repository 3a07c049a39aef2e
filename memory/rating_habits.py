"""The usual ratings of each class of texts, and how a run's rater deviates from them.

Models use different parts of the scale: one gives 3 where another gives 2, or 7 where another gives 9. A habit is a
shift and a stretch of the usual ratings. Bayes' rule infers a rater's habit from its ratings of all classes, so a few
calls also inform the predictions for classes without any call.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

RATINGS = 10  # from 1 to this

#: How often, in percent, a text of the class is rated 1 to 10, and the factor from that spread to the expected error.
_USUAL: Mapping[str, tuple[tuple[int, ...], float]] = {
    "seen0": ((13, 47, 36, 1, 2, 1, 0, 0, 0, 0), 0.8),
    "seen1": ((18, 35, 40, 4, 3, 1, 0, 0, 0, 0), 0.85),
    "seen2": ((4, 26, 52, 8, 6, 3, 1, 0, 0, 0), 0.8),
    "seen3": ((2, 14, 51, 9, 11, 9, 3, 1, 0, 0), 0.95),
    "seen4": ((1, 5, 40, 7, 20, 17, 9, 1, 0, 0), 1.2),
    "seen5": ((0, 5, 29, 6, 16, 25, 16, 3, 0, 0), 1.2),
    "seen6": ((0, 3, 18, 4, 19, 33, 20, 3, 0, 0), 1.1),
    "thought0": ((1, 3, 20, 5, 17, 28, 22, 4, 0, 0), 1.15),
    "thought1": ((1, 2, 15, 5, 15, 31, 26, 5, 0, 0), 1.15),
    "thought2": ((0, 1, 10, 5, 15, 30, 30, 8, 1, 0), 1.1),
    "grave": ((0, 0, 4, 2, 6, 14, 24, 30, 14, 6), 1.1),  # the streams design goes up to 10, models give a little less
    "talk": ((0, 3, 25, 6, 24, 31, 8, 3, 0, 0), 1.05),
}
_SMOOTHING = 0.3  # percent given to every rating, so that none is impossible

#: The shift of a rater's ratings, and the factor on their usual distance from 1.
_HABITS = tuple((shift, stretch) for shift in (-1, 0, 1) for stretch in (0.7, 1.0, 1.4))
_NO_HABIT = _HABITS.index((0, 1.0))
_USUAL_HABIT = 0.7  # prior probability of neither shift nor stretch
_PRIOR = tuple(
    _USUAL_HABIT if place == _NO_HABIT else (1 - _USUAL_HABIT) / (len(_HABITS) - 1) for place in range(len(_HABITS))
)
#: The weight of a rating as evidence of a habit: ratings of the same texts and days are not independent draws.
_EVIDENCE = 0.25

Posterior = tuple[float, ...]  # the probability that the rater has each habit


def uncertainty(group: str) -> float:
    """Return the factor from the spread of a class's distribution to the expected error of a prediction."""
    return _USUAL[group][1]


def posterior(given: Mapping[str, Sequence[int]]) -> Posterior:
    """Return the probability of each habit, given the counts of ratings by class."""
    evidence = [
        math.log(prior)
        + _EVIDENCE
        * math.fsum(
            count * logarithm
            for group, counts in given.items()
            for count, logarithm in zip(counts, _logarithms(group)[place], strict=True)
        )
        for place, prior in enumerate(_PRIOR)
    ]
    most = max(evidence)
    weights = [math.exp(value - most) for value in evidence]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def expected_shares(group: str, habits: Posterior) -> list[float]:
    """Return the expected share of each rating from 1 to 10 for a class; the shares add up to 1."""
    habitual = _habitual(group)
    return [
        math.fsum(probability * shares[at] for probability, shares in zip(habits, habitual, strict=True))
        for at in range(RATINGS)
    ]


@cache
def _habitual(group: str) -> tuple[tuple[float, ...], ...]:
    """Return the shares of a class's ratings under each habit."""
    usual = _USUAL[group][0]
    total = sum(usual) + RATINGS * _SMOOTHING
    return tuple(
        tuple((value + _SMOOTHING) / total for value in _moved(usual, shift, stretch)) for shift, stretch in _HABITS
    )


@cache
def _logarithms(group: str) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(math.log, shares)) for shares in _habitual(group))


def _moved(usual: Sequence[int], shift: int, stretch: float) -> list[float]:
    """Return the shifted and stretched distribution; a rating that falls between two counts for both in part."""
    moved = [0.0] * RATINGS
    for rating, value in enumerate(usual, start=1):
        place = min(RATINGS, max(1, 1 + (rating - 1) * stretch + shift))
        below = math.floor(place)
        above = place - below
        moved[below - 1] += value * (1 - above)
        if above:
            moved[below] += value * above
    return moved

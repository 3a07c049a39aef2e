"""Means of conditions and their paired differences from the base, with bootstrap intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from cogitate.ops.run_tables import Row

RESAMPLES = 2_000
SHARE = 0.95  # nominal coverage of the intervals
FEW = 5  # below this number of pairs, an interval covers the true value clearly less often than `SHARE`


class Interval(NamedTuple):
    """A mean with its bootstrap interval."""

    n: int
    mean: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low


class Comparison(NamedTuple):
    """One measure under one condition."""

    measure: str
    condition: str
    base: bool
    value: Interval
    difference: Interval | None  # from the base, paired by replicate; None for the base itself, or without pairs
    pairs_needed: int | None  # pairs that would distinguish the difference from 0; None: these do, or it is 0

    @property
    def too_few(self) -> bool:
        """Return whether the interval has too few pairs."""
        return self.difference is not None and self.difference.n < FEW

    @property
    def empty(self) -> bool:
        """Return whether the measure is 0 in every run, under this condition and the base."""
        intervals = (self.value, self.difference) if self.difference is not None else (self.value,)
        return not any(interval.mean or interval.low or interval.high for interval in intervals)

    @property
    def told(self) -> bool:
        """Return whether the interval of the difference excludes 0."""
        return self.difference is not None and not self.difference.low <= 0 <= self.difference.high


def bootstrap(values: Sequence[float], seed: str) -> Interval:
    """Return the mean of values, and the interval between quantiles of the means of resamples.

    Args:
        seed: seed of the resamples; the same values and seed give the same interval.
    """
    chance, n = random.Random(seed), len(values)
    means = sorted(fmean(chance.choices(values, k=n)) for _ in range(RESAMPLES))
    tail = round(RESAMPLES * (1 - SHARE) / 2)
    return Interval(n, fmean(values), means[tail], means[-1 - tail])


def compare(measures: Iterable[Row]) -> list[Comparison]:
    """Return a comparison for each measure and condition, in the order of the rows."""
    values: dict[str, dict[str, dict[int, float]]] = {}  # measure -> condition -> replicate -> value
    bases: set[str] = set()
    for row in measures:
        values.setdefault(row["measure"], {}).setdefault(row["condition"], {})[row["replicate"]] = row["value"]
        if row["base"]:
            bases.add(row["condition"])
    comparisons = []
    for measure, conditions in values.items():
        base = next((by_replicate for name, by_replicate in conditions.items() if name in bases), {})
        for condition, by_replicate in conditions.items():
            is_base = condition in bases
            pairs = [] if is_base else differences(base, by_replicate)
            comparisons.append(
                Comparison(
                    measure=measure,
                    condition=condition,
                    base=is_base,
                    value=bootstrap(list(by_replicate.values()), f"{measure} {condition}"),
                    difference=bootstrap(pairs, f"{measure} {condition} difference") if pairs else None,
                    pairs_needed=pairs_needed(pairs),
                )
            )
    return comparisons


def differences(base: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """Return the paired differences, for each replicate that both have."""
    return [other[replicate] - base[replicate] for replicate in sorted(base.keys() & other.keys())]


def pairs_needed(pairs: Sequence[float]) -> int | None:
    """Return the number of pairs that would distinguish the mean from 0; None if it is 0 or these pairs suffice."""
    if len(pairs) < 2 or (mean := fmean(pairs)) == 0:
        return None
    needed = math.ceil((1.96 * stdev(pairs) / mean) ** 2)
    return needed if needed > len(pairs) else None


def sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """Return caveats about the intervals: too few replicates, and how many exclude 0 by chance."""
    caveats = []
    few = max((one.difference.n for one in comparisons if one.too_few and one.difference is not None), default=0)
    if few:
        pairs = "1 pair is" if few == 1 else f"{few} pairs are"
        caveats.append(
            f"{pairs} too few: below {FEW}, an interval covers the true difference clearly less often than "
            f"{SHARE:.0%} of the time. Raise replicates."
        )
    for one in comparisons:
        if one.difference is not None and not one.told and one.pairs_needed is not None:
            caveats.append(
                f"{one.measure}, {one.condition}: {one.difference.n} pairs do not distinguish the difference from 0; "
                f"with this spread, about {one.pairs_needed:,} would."
            )
    compared = sum(one.difference is not None and not one.empty for one in comparisons)
    if compared > 1:
        caveats.append(
            f"Of {compared} intervals of {SHARE:.0%}, about {(1 - SHARE) * compared:.1f} exclude 0 by chance alone."
        )
    return caveats

"""Means of conditions and their paired differences from the base, with bootstrap intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from cogitate.ops.run_tables import Row

RESAMPLES = 2_000
SHARE = 0.95  # of the intervals
FEW = 5  # pairs below which an interval covers the true value clearly less often than it says


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
    difference: Interval | None  # from the base, by pairs of the same replicate; None: of the base, or without pairs
    pairs_needed: int | None  # about how many pairs would tell the difference from 0; None: these do, or none would

    @property
    def too_few(self) -> bool:
        """Return whether there are too few replicates for the interval."""
        return self.difference is not None and self.difference.n < FEW

    @property
    def empty(self) -> bool:
        """Return whether it is 0 in every run, here and in the base."""
        ends = (self.value, self.difference) if self.difference is not None else (self.value,)
        return not any(one.mean or one.low or one.high for one in ends)

    @property
    def told(self) -> bool:
        """Return whether the interval of the difference excludes 0."""
        return self.difference is not None and not self.difference.low <= 0 <= self.difference.high


def bootstrap(values: Sequence[float], seed: str) -> Interval:
    """Return the mean of values with the interval between the quantiles of the means of resamples.

    Args:
        seed: of the resamples: the same values and seed give the same interval.
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
    found = []
    for measure, conditions in values.items():
        base = next((by_replicate for name, by_replicate in conditions.items() if name in bases), {})
        for condition, by_replicate in conditions.items():
            is_base = condition in bases
            pairs = [] if is_base else differences(base, by_replicate)
            found.append(
                Comparison(
                    measure=measure,
                    condition=condition,
                    base=is_base,
                    value=bootstrap(list(by_replicate.values()), f"{measure} {condition}"),
                    difference=bootstrap(pairs, f"{measure} {condition} difference") if pairs else None,
                    pairs_needed=pairs_needed(pairs),
                )
            )
    return found


def differences(base: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """Return the differences of the replicates that both have."""
    return [other[replicate] - base[replicate] for replicate in sorted(base.keys() & other.keys())]


def pairs_needed(pairs: Sequence[float]) -> int | None:
    """Return the number of pairs that would distinguish their mean from 0; None: it is 0, or these are enough."""
    if len(pairs) < 2 or (mean := fmean(pairs)) == 0:
        return None
    needed = math.ceil((1.96 * stdev(pairs) / mean) ** 2)
    return needed if needed > len(pairs) else None


def sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """Return what a reader must know of the intervals: where replicates are too few, and what chance does to many."""
    said = []
    few = max((one.difference.n for one in comparisons if one.too_few and one.difference is not None), default=0)
    if few:
        pairs = "1 pair is" if few == 1 else f"{few} pairs are"
        said.append(
            f"{pairs} too few: below {FEW}, an interval covers the true difference clearly less often than "
            f"{SHARE:.0%} of the time. Raise replicates."
        )
    for one in comparisons:
        if one.difference is not None and not one.told and one.pairs_needed is not None:
            said.append(
                f"{one.measure}, {one.condition}: {one.difference.n} pairs do not distinguish the difference from 0; "
                f"with this spread, about {one.pairs_needed:,} would."
            )
    compared = sum(one.difference is not None and not one.empty for one in comparisons)
    if compared > 1:
        said.append(
            f"Of {compared} intervals of {SHARE:.0%}, about {(1 - SHARE) * compared:.1f} exclude 0 by chance alone."
        )
    return said

"""Division of a request's usage among its jobs. The shares add up exactly."""

from __future__ import annotations

from collections.abc import Sequence


def shares_of(total: int, weights: Sequence[int], caps: Sequence[int]) -> list[int]:
    """Split an amount by weights, by the method of the largest remainder, so that the shares add up to it.

    Args:
        weights: not negative; if all are 0, they count as equal.
        caps: a share exceeds its cap only if the amount exceeds all caps together.
    """
    shares, rest = [0] * len(weights), total
    if total > sum(caps):
        shares, rest = list(caps), total - sum(caps)
        return [share + more for share, more in zip(shares, _split(rest, weights), strict=True)]
    while rest:
        open_ones = [i for i, cap in enumerate(caps) if shares[i] < cap]
        parts = _split(rest, [weights[i] for i in open_ones])
        for i, part in zip(open_ones, parts, strict=True):
            given = min(part, caps[i] - shares[i])
            shares[i] += given
            rest -= given
    return shares


def _split(total: int, weights: Sequence[int]) -> list[int]:
    weights = weights if any(weights) else [1] * len(weights)
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts

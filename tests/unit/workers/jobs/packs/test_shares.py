"""Shares add up to the amount, by weight, and none exceeds its cap while another has room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cogitate.workers.jobs.packs.shares import shares_of

PARTS = st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 5_000)), min_size=1, max_size=32)


@given(total=st.integers(0, 200_000), parts=PARTS)
def test_shares_are_exact_and_capped(total: int, parts: list[tuple[int, int]]) -> None:
    weights, caps = [weight for weight, _ in parts], [cap for _, cap in parts]
    shares = shares_of(total, weights, caps)
    assert sum(shares) == total
    assert all(share >= 0 for share in shares)
    if total <= sum(caps):
        assert all(share <= cap for share, cap in zip(shares, caps, strict=True))


def test_shares_follow_weights() -> None:
    assert shares_of(10, [3, 1, 1], [10, 10, 10]) == [6, 2, 2]
    assert shares_of(1, [1, 1, 1], [1, 1, 1]) == [1, 0, 0]
    assert shares_of(10, [8, 1, 1], [4, 10, 10]) == [4, 3, 3]

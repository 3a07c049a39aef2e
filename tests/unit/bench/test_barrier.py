"""What waiting costs is counted from the calls that a run made."""

from __future__ import annotations

from bench.pace.barrier import seconds_of_barrier, seconds_of_oracle, seconds_one_by_one

CALLS = [("ada", 1), ("ben", 1), ("ada", 2), ("ada", 7), ("ada", 7), ("cy", 7)]


def test_sequential_calls_add_up() -> None:
    assert seconds_one_by_one(CALLS, 0.5) == 3.0


def test_a_barrier_waits_for_the_longest_chain_of_a_tick() -> None:
    assert seconds_of_barrier(CALLS, 0.5) == 2.0  # one at tick 1, one at 2, two of Ada's at 7


def test_for_an_oracle_only_an_owners_own_calls_wait_for_each_other() -> None:
    assert seconds_of_oracle(CALLS, 0.5) == 2.0  # Ada's four
    assert seconds_of_oracle([], 0.5) == 0

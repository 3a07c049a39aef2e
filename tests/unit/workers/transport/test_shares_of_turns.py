"""The rule that chooses whose job is next: what runs are served, whatever the kinds and the times of their jobs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.workers.transport.hints import ASKING, next_hints, queue_hints, tickets_key
from tests.live_redis import empty_redis

KINDS = ("act", "plan", "reflect", "summarise")
RUNS = tuple("abcdef")
TURNS = ".turns\x06\x169:runs"
LONG = 120  # hints of a run in each of its kinds: more than any example takes


@cache
def _client() -> Any:
    return empty_redis()


class Fleet:
    """Runs that publish jobs of several kinds, and workers that take them."""

    def __init__(self) -> None:
        self.client: Any = _client()
        self.client.flushdb()
        self.taken: list[tuple[str, str]] = []  # run, kind
        self._drawn = 0

    def put(self, run: str, kind: str, count: int, share: int) -> None:
        queue_hints(self.client, kind, ASKING, run, share, [f"{run} {kind}"] * count)

    def draw(self, most: int = 1, kinds: tuple[str, ...] = KINDS) -> list[tuple[str, str]]:
        """Draw a ticket as a worker does, from one queue after the other, and return the runs and kinds that it got."""
        for turn in range(len(kinds)):
            queue = kinds[(self._drawn + turn) % len(kinds)]
            if self.client.rpop(tickets_key(queue, ASKING)):
                break
        else:
            return []
        self._drawn += 1
        found = next_hints(self.client, [queue, *(kind for kind in kinds if kind != queue)], ASKING, most)
        for kind, hint in found:
            assert hint.split()[1] == kind, "a hint comes with the queue that it waited in"
        got = [(hint.split()[0], kind) for kind, hint in found]
        self.taken += got
        return got

    def tickets(self, kind: str) -> int:
        return int(self.client.llen(tickets_key(kind, ASKING)))

    def hints(self, kind: str) -> int:
        return sum(int(self.client.llen(key)) for key in self.client.keys(f"{tickets_key(kind, ASKING)}:of:*"))


loads = st.dictionaries(
    st.sampled_from(RUNS),
    st.tuples(st.integers(1, 5), st.sets(st.sampled_from(KINDS), min_size=1)),
    min_size=2,
)


@given(loads, st.integers(1, 100), st.integers(1, 8))
@settings(max_examples=60)
def test_runs_that_all_wait_are_served_by_their_shares(
    load: dict[str, tuple[int, set[str]]], draws: int, most: int
) -> None:
    """No two runs are further apart than one job of each, in jobs divided by shares, at any time."""
    fleet = Fleet()
    for run, (share, kinds) in load.items():
        for kind in kinds:
            fleet.put(run, kind, LONG, share)
    served: Counter[str] = Counter()
    while len(fleet.taken) < draws:
        assert fleet.draw(most)
    for run, _ in fleet.taken[:draws]:
        served[run] += 1
        turns = {each: Fraction(served[each], share) for each, (share, _) in load.items()}
        for one, other in ((a, b) for a in turns for b in turns):
            apart = turns[one] - turns[other]
            assert apart <= Fraction(1, load[one][0]) + Fraction(1, load[other][0])


@given(loads, st.data())
@settings(max_examples=60)
def test_a_run_that_begins_to_wait_is_served_before_any_other_has_two_further_turns(
    load: dict[str, tuple[int, set[str]]], data: st.DataObject
) -> None:
    fleet = Fleet()
    small = data.draw(st.sampled_from(sorted(load)))
    for run, (share, kinds) in load.items():
        for kind in kinds if run != small else ():
            fleet.put(run, kind, LONG, share)
    for _ in range(data.draw(st.integers(0, 40))):
        fleet.draw()
    fleet.taken.clear()
    kind = data.draw(st.sampled_from(KINDS))
    fleet.put(small, kind, 1, load[small][0])
    while (small, kind) not in fleet.taken:
        assert fleet.draw()
    before = Counter(run for run, _ in fleet.taken[: fleet.taken.index((small, kind))])
    for run, count in before.items():
        assert count <= 1 + load[run][0], f"{run} has a share of {load[run][0]}"


steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(RUNS), st.sampled_from(KINDS), st.integers(1, 9)),
        st.tuples(st.just("draw"), st.sets(st.sampled_from(KINDS), min_size=1), st.integers(1, 8), st.just(0)),
    ),
    max_size=30,
)


@given(steps)
@settings(max_examples=60)
def test_every_hint_is_handed_out_once_and_each_queue_has_a_ticket_for_each(found: list[tuple[Any, ...]]) -> None:
    """Also where some workers take only some of the kinds."""
    fleet, put = Fleet(), Counter[tuple[str, str]]()
    for step, one, other, count in found:
        if step == "put":
            fleet.put(one, other, count, 1 + RUNS.index(one) % 3)
            put[one, other] += count
        else:
            fleet.draw(other, tuple(sorted(one)))
        for kind in KINDS:
            assert fleet.tickets(kind) == fleet.hints(kind)
    while fleet.draw():
        pass
    assert Counter(fleet.taken) == put
    assert not any(fleet.client.keys(f"{kind}*") for kind in KINDS), "nothing stays behind"


def test_turns_of_a_run_count_across_workers_of_all_kinds() -> None:
    fleet = Fleet()
    fleet.put("a", "plan", 20, 1)
    for _ in range(10):
        fleet.draw(kinds=("plan",))
    for run in ("a", "b"):
        fleet.put(run, "act", 30, 1)
    fleet.put("b", "plan", 10, 1)
    fleet.taken.clear()
    for _ in range(10):
        fleet.draw(kinds=("plan",))
        fleet.draw(kinds=("act",))
    assert sorted(Counter(run for run, _ in fleet.taken).values()) == [10, 10]


def test_the_turns_of_runs_that_wait_no_longer_are_forgotten() -> None:
    fleet = Fleet()
    fleet.put("long", "plan", 60, 1)
    for number in range(50):
        fleet.put(f"run-{number}", "plan", 1, 1)
        fleet.draw()
        fleet.draw()
    assert fleet.client.zcard(TURNS) < 5
    while fleet.draw():
        pass
    assert not fleet.client.exists(TURNS)

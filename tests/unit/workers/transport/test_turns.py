"""Turns of runs at a queue: whose hint is handed out for a ticket, and what stays behind."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.workers.transport.hints import (
    ASKING,
    KEPT,
    QUICK,
    TICKETS,
    TURNS_KEPT,
    hints_key,
    next_hints,
    queue_hints,
    runs_key,
    tickets_key,
)

QUEUE = "cogitate:plan"


class Queue:
    """A queue of a kind, as a host fills it and workers draw from it."""

    def __init__(self, priority: int = QUICK) -> None:
        self.client: Any = FakeRedis()
        self.priority, self.tickets = priority, tickets_key(QUEUE, priority)

    def put(self, run: str, *hints: str, share: int = 1) -> None:
        queue_hints(self.client, QUEUE, self.priority, run, share, list(hints))

    def draw(self, most: int = 1) -> list[str] | None:
        """The hints that come with the next ticket; None: there is no ticket."""
        if not self.client.rpop(self.tickets):
            return None
        return [hint for _, hint in next_hints(self.client, [QUEUE], self.priority, most)]

    def drawn(self, count: int) -> str:
        """The hints that come with so many tickets, one each."""
        found = [self.draw() for _ in range(count)]
        assert all(hints is not None and len(hints) == 1 for hints in found), found
        return " ".join(hints[0] for hints in found if hints)

    def turn(self) -> float:
        return float(self.client.get(".turns" + self.tickets.removeprefix(QUEUE) + ":turn"))

    def left(self) -> list[bytes]:
        """The keys that are left, but for the turns."""
        return [key for key in self.client.keys("*") if not key.startswith(b".turns")]


def test_queued_jobs_are_kept_for_a_day_under_the_names_that_workers_read() -> None:
    assert (tickets_key("q", QUICK), tickets_key("q", ASKING)) == ("q", "q\x06\x169")
    assert (hints_key("q", "town", 3), runs_key("q"), KEPT) == ("q:of:3/town", "q:runs", 24 * 60 * 60)
    for priority in (QUICK, ASKING):
        queue = Queue(priority)
        queue.put("town", "a", "b", share=3)
        client, tickets = queue.client, queue.tickets
        assert client.lrange(tickets, 0, -1) == [TICKETS[priority].encode()] * 2
        assert client.lrange(f"{tickets}:of:3/town", 0, -1) == [b"b", b"a"]
        assert client.zrange(f"{tickets}:runs", 0, -1, withscores=True) == [(b"3/town", 0.0)]
        assert [client.ttl(f"{tickets}:of:3/town"), client.ttl(f"{tickets}:runs")] == [KEPT, KEPT]
        assert len(client.keys("*")) == 3


def test_runs_take_turns_and_the_hints_of_each_come_in_their_order() -> None:
    queue = Queue()
    queue.put("large", *(f"l{n}" for n in range(5)))
    queue.put("small", "s0", "s1")
    assert queue.drawn(6) == "l0 s0 l1 s1 l2 l3"
    assert queue.draw() == ["l4"]
    assert queue.draw() is None
    assert queue.left() == [], "nothing stays behind"


def test_a_run_with_a_share_of_three_takes_three_turns_for_one_of_another() -> None:
    queue = Queue()
    queue.put("one", *["o"] * 6)
    queue.put("three", *["t"] * 9, share=3)
    assert queue.drawn(12).replace(" ", "").count("t") == 9
    queue = Queue()
    queue.put("one", *["o"] * 6)
    queue.put("three", *["t"] * 9, share=3)
    assert sorted(queue.drawn(4).split()) == ["o", "t", "t", "t"]


def test_a_latecomer_starts_at_the_current_turn() -> None:
    queue = Queue()
    queue.put("first", *["f"] * 9)
    assert queue.drawn(4) == "f f f f"
    assert queue.turn() == 3.0
    queue.put("later", *["l"] * 4)
    assert queue.drawn(6) == "l f l f l f"
    assert queue.turn() == 6.0, "turns never go back"


def test_a_run_whose_hints_are_gone_is_passed_over() -> None:
    queue = Queue()
    for run in ("gone", "here"):
        queue.put(run, f"{run} 1", f"{run} 2")
    queue.client.delete(hints_key(queue.tickets, "gone", 1))
    assert queue.drawn(2) == "here 1 here 2"
    assert queue.client.zrange(runs_key(queue.tickets), 0, -1) == []
    assert [queue.draw(), queue.draw(), queue.draw()] == [[], [], None]
    assert queue.left() == []


@pytest.mark.parametrize(("lost", "last"), [(1, ["a2", "b2"]), (2, ["b1", "a2"])])
def test_the_last_ticket_draws_a_hint_with_a_lost_ticket(lost: int, last: list[str]) -> None:
    queue = Queue()
    queue.put("a", "a1", "a2")
    queue.put("b", "b1", "b2")
    for _ in range(lost):
        queue.client.rpop(queue.tickets)
    found = [queue.draw() for _ in range(4 - lost)]
    assert found[-1] == last
    assert all(hints is not None and len(hints) == 1 for hints in found[:-1])
    assert bool(queue.left()) is (lost == 2), "of two lost ones, one hint waits for the next ticket"


def test_a_ticket_without_a_hint_draws_nothing() -> None:
    queue = Queue()
    queue.put("town", "a")
    queue.client.lpush(queue.tickets, TICKETS[QUICK])
    assert [queue.draw(), queue.draw(), queue.draw()] == [["a"], [], None]
    assert queue.left() == []


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 9])
def test_hints_taken_together_equal_those_taken_one_by_one(most: int) -> None:
    queue = Queue()
    queue.put("large", *(f"l{n}" for n in range(5)))
    queue.put("small", "s0", "s1")
    taken: list[str] = []
    while (hints := queue.draw(most)) is not None:
        assert len(hints) == min(most, 7 - len(taken))
        taken += hints
        assert queue.client.llen(queue.tickets) == 7 - len(taken), "each takes its ticket"
    assert " ".join(taken) == "l0 s0 l1 s1 l2 l3 l4"
    assert queue.left() == [], "nothing stays behind"


def test_surplus_tickets_stay_and_the_last_ticket_draws_surplus_hints() -> None:
    queue = Queue()
    queue.put("town", "a", "b")
    queue.client.lpush(queue.tickets, *[TICKETS[QUICK]] * 3)
    assert queue.draw(9) == ["a", "b"]
    assert queue.client.llen(queue.tickets) == 3
    queue.put("town", *"cdefgh")
    queue.client.ltrim(queue.tickets, 0, 3)
    assert queue.draw(9) == list("cdefg")
    assert [queue.draw(9), queue.client.llen(hints_key(queue.tickets, "town", 1))] == [None, 1]


def test_the_turns_outlive_every_hint() -> None:
    queue = Queue(ASKING)
    queue.put("town", "a", "b", "c")
    queue.drawn(1)
    for key in queue.client.keys(".turns*"):
        assert queue.client.ttl(key) == TURNS_KEPT > KEPT
    assert sorted(queue.client.keys(".turns*")) == [b".turns\x06\x169:runs", b".turns\x06\x169:turn"]


def test_jobs_with_and_without_a_model_wait_in_separate_queues() -> None:
    quick = Queue()
    asking = Queue(ASKING)
    asking.client = quick.client
    quick.put("town", "q")
    asking.put("town", "a")
    assert asking.draw() == ["a"]
    assert asking.draw() is None
    assert quick.draw() == ["q"]


def test_runs_take_turns_across_queues_without_a_drawn_ticket() -> None:
    client: Any = FakeRedis()
    for queue, run, hints in (("x:act", "small", ["s0"]), ("x:plan", "large", ["l0", "l1", "l2"])):
        queue_hints(client, queue, ASKING, run, 1, hints)

    def take() -> list[tuple[str, str]]:
        return next_hints(client, ["rate", "plan", "act"], ASKING, 0, prefix="x:")

    taken = [take() for _ in range(4)]
    assert sorted(taken[:2]) == [[("act", "s0")], [("plan", "l0")]], "runs take turns across queues"
    assert taken[2:] == [[("plan", "l1")], [("plan", "l2")]]
    assert take() == []
    assert client.keys("x:act*") == client.keys("x:plan*") == [], "each hint took a ticket with it"


def test_no_hint_is_taken_without_a_ticket() -> None:
    queue = Queue(ASKING)
    queue.put("town", "a")
    queue.client.delete(queue.tickets)
    assert next_hints(queue.client, [QUEUE], ASKING, 0) == []
    queue.put("town", "b")
    assert next_hints(queue.client, [QUEUE], ASKING, 0) == [(QUEUE, "a"), (QUEUE, "b")], (
        "with the one that lost its ticket"
    )

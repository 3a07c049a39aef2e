"""What the cards of the host and of the workers say, and when they are red."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cogitate.ops.flower.cards import host_card, workers_card
from cogitate.scheduler.inspection.vitals import OpenKind
from cogitate.scheduler.ledger.worker_signs import FailingWorker, MissingWorker, UnansweredWorker, WorkersSeen
from tests.unit.ops.card_case import STEERING, graded, run


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ("alive", "good")),
        ({"held": False}, ("gone", "bad")),
        ({"status": "paused"}, ("paused", "warn")),
        ({"status": "paused", "held": False}, ("gone", "bad")),
        ({"status": "finished", "held": False}, ("left", "")),
        ({"steering": msgspec.structs.replace(STEERING, lag=6)}, ("alive", "warn")),
    ],
)
def test_a_host_is_alive_gone_or_has_left(changed: dict[str, Any], expected: tuple[str, str]) -> None:
    card = host_card(run(**changed))
    assert graded(card) == expected
    assert card.figures["lag"] == (6 if "steering" in changed else 0)


@pytest.mark.parametrize("held", [True, False])  # its sign of life may be as old as the last write
def test_a_host_whose_redis_takes_no_writes_is_not_well(held: bool) -> None:
    card = host_card(run(held=held), no_writes=True)
    assert graded(card) == ("cannot write", "bad")
    assert "Redis takes no writes" in card.lines[0]
    assert host_card(run(status="finished", held=False), no_writes=True) == host_card(
        run(status="finished", held=False)
    )


def test_a_lost_host_comes_with_a_remedy() -> None:
    assert host_card(run(held=False)).lines == [
        'no host is active: start the program that hosts it again, with exist="resume"',
        "the last was vm:7",
    ]


def test_workers_are_not_missing_when_redis_refuses_their_heartbeats() -> None:
    seen = WorkersSeen(alive=[], missing=[MissingWorker(worker="a", seconds=7.5)], kinds=[])
    well = run(open={"act": OpenKind(waiting=4)})
    assert graded(workers_card(well, seen)) == ("0 of 1", "bad")
    assert graded(workers_card(well, seen, no_writes=True)) == ("unknown", "warn")


@pytest.mark.parametrize(
    ("alive", "missing", "waiting", "held", "expected"),
    [
        (["a", "b"], [], 4, True, ("2 of 2", "good")),
        (["a"], ["b"], 0, True, ("1 of 2", "bad")),
        ([], [], 0, True, ("none", "")),
        ([], [], 4, True, ("none", "bad")),
        ([], [], 4, False, ("none", "")),  # its host is what is wrong
    ],
)
def test_workers_are_missed_when_they_died_or_jobs_wait(
    alive: list[str], missing: list[str], waiting: int, held: bool, expected: tuple[str, str]
) -> None:
    seen = WorkersSeen(alive=alive, missing=[MissingWorker(worker=name, seconds=7.5) for name in missing], kinds=[])
    card = workers_card(run(held=held, open={"act": OpenKind(waiting=waiting)}), seen)
    assert graded(card) == expected
    assert (card.figures["alive"], card.figures["expected"]) == (len(alive), len(alive) + len(missing))
    assert all(any(name in line for line in card.lines) for name in missing)


@pytest.mark.parametrize("ended", [False, True])
def test_a_worker_without_claims_is_unable_and_says_why(ended: bool) -> None:
    failing = FailingWorker(worker="b", failures=21, why="no template", ended=ended)
    seen = WorkersSeen(alive=["a"] if ended else ["a", "b"], missing=[], kinds=[], failing=[failing])
    card = workers_card(run(), seen)
    assert graded(card) == ("1 of 2", "bad")
    assert [line for line in card.lines if "no template" in line and line.startswith("Worker b ")]


def test_a_worker_without_an_answering_endpoint_is_red() -> None:
    lost = UnansweredWorker(worker="b", endpoint="default", failures=4, why="connection")
    card = workers_card(run(), WorkersSeen(alive=["a", "b"], missing=[], kinds=[], unanswered=[lost]))
    assert graded(card) == ("2 of 2", "bad")
    assert card.lines[0] == (
        "Worker b: its last 4 calls of default failed (connection), those of others did not: check its URL and key"
    )
    assert (card.command, card.jobs) == ("cogitate doctor", {}), "others end the jobs that it fails"

"""What the status says first of workers in trouble."""

from __future__ import annotations

import pytest

from cogitate.ops.formatting.vitals import worker_lines
from cogitate.scheduler.ledger.worker_signs import FailingWorker, MissingWorker, WorkersSeen

GONE = MissingWorker(worker="a", seconds=18.2)


@pytest.mark.parametrize(
    ("alive", "missing", "waiting", "said"),
    [
        (["b"], [], 3, []),
        ([], [], 0, []),
        ([], [], 3, ["No worker is left, and 3 open jobs need one: start one with cogitate worker"]),
        (
            [],
            [GONE],
            0,
            ["Worker a has sent no heartbeat for 18 s", "No worker is left: start one with cogitate worker"],
        ),
        (
            ["b"],
            [GONE],
            3,
            [
                "Worker a has sent no heartbeat for 18 s",
                "1 other worker takes jobs; see why it ended, then start it again: cogitate worker",
            ],
        ),
    ],
)
def test_a_missing_worker_is_named_with_what_is_left_and_a_remedy(
    alive: list[str], missing: list[MissingWorker], waiting: int, said: list[str]
) -> None:
    assert worker_lines(WorkersSeen(alive=alive, missing=missing, kinds=[]), waiting) == said


def test_a_worker_that_can_claim_nothing_is_not_one_that_is_left() -> None:
    failing = FailingWorker(worker="a", failures=9, why="OSError", ended=False)
    *_, last = worker_lines(WorkersSeen(alive=["a"], missing=[], kinds=[], failing=[failing]), 2)
    assert last.startswith("No worker is left, and 2 open jobs")

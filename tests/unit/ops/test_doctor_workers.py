"""What `cogitate doctor` reports of workers by their signs."""

from __future__ import annotations

from cogitate.ops.doctor.command import examine_signs
from cogitate.scheduler.ledger.worker_signs import FailingWorker, MissingWorker, UnansweredWorker, WorkersSeen


def test_dead_failing_and_unanswered_workers_are_named_each_with_a_remedy() -> None:
    seen = WorkersSeen(
        alive=["here@vm", "lost@vm"],
        missing=[MissingWorker(worker="gone@vm", seconds=36.4)],
        kinds=[],
        failing=[FailingWorker(worker="here@vm", failures=3, why="no template", ended=False)],
        unanswered=[UnansweredWorker(worker="lost@vm", endpoint="default", failures=4, why="connection")],
    )
    found = list(examine_signs(seen))
    assert [(one.what, one.grade) for one in found] == [
        ("worker gone@vm", "warning"),
        ("worker here@vm", "failed"),
        ("worker lost@vm", "failed"),
    ]
    assert found[0].found == "has sent no heartbeat for 36 s"
    assert "cogitate worker" in found[0].advice
    assert list(examine_signs(WorkersSeen(alive=["here@vm"], missing=[], kinds=[]))) == []

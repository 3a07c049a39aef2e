"""The admission of observations, and summaries of cells at a boundary without a model."""

from __future__ import annotations

import pytest

from cogitate.memory.effects import Archive, ForgetWaiting, ReplaceSummary, TakeWaiting
from cogitate.memory.entry import Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.policies.cells import (
    SUMMARY_TOKENS,
    enforce,
    has_space,
    most_waiting,
    receive,
    surplus_cells,
    update_summary,
)
from cogitate.memory.stream import Stream
from tests.unit.tasks.kind_cases import KLAUS, observation

CELLS = MemoryLimits(policy="cells", cells=2)


def filled(taken: int, waiting: int) -> Stream:
    stream = Stream(KLAUS)
    for n in range(taken):
        stream.append(observation(f"Cell {n}.", n), 1)
    for n in range(waiting):
        stream.wait(observation(f"Wait {n}.", 50 + n))
    return stream


@pytest.mark.parametrize(
    ("taken", "waiting", "appended"), [(0, 0, True), (1, 0, True), (2, 0, False), (1, 1, False), (3, 0, False)]
)
def test_a_memory_without_a_free_cell_waits_behind_the_others(taken: int, waiting: int, appended: bool) -> None:
    stream = filled(taken, waiting)
    assert has_space(stream, CELLS) is appended
    assert receive(stream, observation("New.", 90), CELLS, 7) is appended
    assert stream.observed() == taken + appended
    assert [entry.text for entry in stream.head.waiting] == [f"Wait {n}." for n in range(waiting)] + ["New."] * (
        not appended
    )
    if appended:
        assert stream.live()[-1].tick == 7


def test_only_observations_of_cells_wait() -> None:
    stream = filled(2, 0)
    assert receive(stream, Entry(type="reflection", text="Hm.", minute=90), CELLS, 7) is True
    for limits in (MemoryLimits(cells=2), MemoryLimits(policy="tokens", cells=2)):
        assert receive(stream, observation("New.", 90), limits, 7) is True
    assert stream.head.waiting == []


@pytest.mark.parametrize(
    ("taken", "waiting", "out"),
    [
        (2, 0, []),
        (2, 1, ["Cell 0."]),
        (2, 2, ["Cell 0.", "Cell 1."]),
        (2, 9, ["Cell 0.", "Cell 1."]),
        (1, 2, ["Cell 0."]),
    ],
)
def test_for_each_that_waits_the_oldest_cell_leaves(taken: int, waiting: int, out: list[str]) -> None:
    assert [entry.text for entry in surplus_cells(filled(taken, waiting), CELLS)] == out


def test_waiting_memories_take_free_cells_at_a_boundary() -> None:
    assert most_waiting(CELLS) == 4
    assert enforce(filled(2, 4), CELLS, {}) == ()
    assert enforce(filled(1, 4), CELLS, {}) == (TakeWaiting(KLAUS, 1),)
    assert enforce(filled(0, 1), CELLS, {}) == (TakeWaiting(KLAUS, 1),)
    assert enforce(filled(2, 0), CELLS, {}) == ()


def test_memories_beyond_the_queue_are_summarised_or_forgotten() -> None:
    stream = filled(2, 5)
    take, archive, summary = enforce(stream, CELLS, {})
    assert take == TakeWaiting(KLAUS, 5)
    assert archive == Archive(owner=KLAUS, numbers=(1, 2, 3, 4, 5), into_summary=True)
    assert isinstance(summary, ReplaceSummary)
    assert (summary.version, summary.cut) == (0, 0)
    assert summary.text == "Cell 1. Wait 0. Wait 2.", "three of five: what is left out adds no word"
    unchanged = MemoryLimits(policy="cells", cells=2, on_failure="unchanged")
    assert enforce(stream, unchanged, {}) == (ForgetWaiting(KLAUS, 1, start=4),)
    assert enforce(filled(1, 6), unchanged, {}) == (TakeWaiting(KLAUS, 1), ForgetWaiting(KLAUS, 1, start=4))
    archive, summary = enforce(filled(3, 0), unchanged, {})
    assert archive == Archive(owner=KLAUS, numbers=(1,), into_summary=True)
    assert isinstance(summary, ReplaceSummary)
    assert summary.text == "Cell 0."


def test_a_summary_of_cells_takes_250_tokens_and_untellable_text_is_kept() -> None:
    assert SUMMARY_TOKENS == 250
    assert update_summary("Ann sang.", [observation("Bo ran.", 1)], {}) == ("Ann sang. Bo ran.", 0)
    assert update_summary("", [observation("…", 1)], {}) == ("…", 0)
    long = [observation(" ".join(["so"] * 300), 1)]
    assert update_summary("", long, {}) == (" ".join(["so"] * 192), 390 - 250)

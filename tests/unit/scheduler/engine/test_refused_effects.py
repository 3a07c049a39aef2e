"""Effects that cannot happen: for an owner that is gone or never was, or of a shape that no memory holds."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis
from structlog.testing import capture_logs

from cogitate import Profile, Settings, TickLoop
from cogitate.memory.effects import Tell
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.tasks.kind import Case
from cogitate.tasks.registry import register
from tests.unit.scheduler.engine.failing_case import ADA, TICKS, Dreams, ended, readable
from tests.unit.tasks.own_kind_case import Own, asked_every_tick, remembered


class Guarded(list[Any]):
    """A list whose own methods raise."""

    def __bool__(self) -> bool:
        raise RuntimeError("not now")

    __len__ = __iter__ = __bool__  # type: ignore[assignment]


class Tune(StrEnum):
    LOUD = "I hummed loudly."


class Words(str):
    """Text of a custom class."""


class Number(int):
    """A number of a custom class."""


def test_effects_of_other_classes_are_written_as_the_plain_values_that_they_hold(
    cogitate_loop: Callable[..., TickLoop],
) -> None:
    def make(case: Case) -> Any:
        minute, subjects = Number(case.job.minute), (Words("Ada"),)
        return Guarded(remembered(case, text=Tune.LOUD, minute=minute, subjects=subjects, location=Words("inn")))

    register(Own(makes=make))
    client = FakeRedis()
    loop = cogitate_loop(owners=ADA, ticks=TICKS, client=client)
    entries = [change.entry for tick in loop for change in tick.applied if change.entry]
    assert {(entry.text, entry.subjects, entry.location) for entry in entries} == {
        ("I hummed loudly.", ("Ada",), "inn")
    }
    assert {type(part) for entry in entries for part in (entry.text, entry.minute, *entry.subjects)} == {str, int}
    readable(client, loop)


def of_answer(case: Case, answer: Any) -> Any:
    return remembered(case, text=answer.text, importance=77 if answer.text == "A dream." else 5)


@pytest.mark.parametrize("learns", [True, False])
def test_an_answer_with_unwritable_effects_is_repaired_once(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learns: bool
) -> None:
    monkeypatch.setattr("cogitate.workers.jobs.runner.ModelClients", Dreams)
    monkeypatch.setattr(Dreams, "learns", learns)
    register(Own(answers=of_answer, output_cap=100))
    client = FakeRedis()
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path, llm="openai", limit_tokens=1_000_000, base_url=endpoint.url, api_key="any", rate_share=0
        )
        loop = cogitate_loop(owners=ADA, ticks=TICKS, client=client, settings=settings)
        for _ in loop:
            pass
    found = ended(client)
    assert len(found) == TICKS - 1
    expected = ("llm", "none", 2, "", "A tune.") if learns else ("heuristic", "failed", 2, "unusable:kind", "I hummed.")
    assert {
        (note.source, end.reason, note.attempts, note.failure, end.effects[0].entry.text)  # type: ignore[union-attr]
        for end, note in found
    } == {expected}
    readable(client, loop)


STRANGER = "Tell: there is no owner 'agent:nobody' in this run"


def test_an_effect_for_an_owner_that_never_was_is_refused_and_the_heuristic_applies(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogitate.workers.jobs.runner.ModelClients", Dreams)
    register(Own(answers=lambda case, answer: (Tell("agent:nobody", "tune", {"a": 1}),), output_cap=100))
    client = FakeRedis()
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path, llm="openai", limit_tokens=1_000_000, base_url=endpoint.url, api_key="any", rate_share=0
        )
        loop = cogitate_loop(owners=ADA, ticks=TICKS, client=client, settings=settings)
        with capture_logs() as logs:
            ends = [end for tick in loop for end in tick.ended if end.kind == "hum"]
    assert {(end.end, end.source, end.reason) for end in ends} == {("applied", "heuristic", "failed")}
    assert all(STRANGER in end.why for end in ends)
    assert {note.usage.calls for _, note in ended(client)} == {1}, "the answer was paid for"
    refused = [entry for entry in logs if entry["event"] == "job.effects_refused"]
    assert [entry["kind"] for entry in refused] == ["hum"]
    assert summarise_run(client, "test").warnings["job.effects_refused"] == len(ends)
    readable(client, loop)


def test_a_heuristic_for_an_owner_that_never_was_ends_its_job_as_refused_everywhere(
    cogitate_loop: Callable[..., TickLoop],
) -> None:
    register(Own(makes=lambda case: (Tell("agent:nobody", "tune", {"a": 1}),)))
    client = FakeRedis()
    loop = cogitate_loop(owners=ADA, ticks=TICKS, client=client)
    ends = [end for tick in loop for end in tick.ended if end.kind == "hum"]
    assert {(end.end, end.source) for end in ends} == {("refused", "heuristic")}
    assert all("there is no owner 'agent:nobody' in this run" in end.why for end in ends)
    assert {one.state for one in JobHistory(client, "test").all() if one.kind == "hum" and one.ended} == {"refused"}
    assert summarise_run(client, "test").jobs["hum"]["end"] == {"refused": len(ends)}
    readable(client, loop)


def test_an_effect_for_an_owner_that_has_left_is_stale(cogitate_loop: Callable[..., TickLoop]) -> None:
    register(Own(makes=lambda case: (Tell("agent:ben", "tune", {"a": 1}),), asks=asked_by_ada))
    loop = cogitate_loop(owners=ADA | {"agent:ben": Profile(name="Ben")}, ticks=TICKS, client=FakeRedis())
    ends = {}
    for tick in loop:
        ends[tick.number] = [end.end for end in tick.ended if end.kind == "hum"]
        if tick.number == 2:
            loop.leave("agent:ben")
    assert (ends[2], ends[4]) == (["applied"], ["stale"])


def asked_by_ada(moment: Any) -> Any:
    return asked_every_tick(moment) if moment.owner == "agent:ada" else []

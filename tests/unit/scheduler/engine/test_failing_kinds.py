"""A host's own kind that raises, or asks for what cannot be written: its job ends without effects, the run goes on."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeRedis
from pydantic import Field, create_model
from structlog.testing import capture_logs

from cogitate import Settings, TickLoop
from cogitate.hosting.shortfalls import format_failure
from cogitate.memory.effects import SetCounter, Tell
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.ends import Shortfalls, note_shortfall
from cogitate.scheduler.journal.lines import Ended, EndNote
from cogitate.tasks.job import Cost, JobKey
from cogitate.tasks.kind import Case, Prompt
from cogitate.tasks.registry import register
from cogitate.workers.jobs.fitting import MAX_NUMBER, MAX_USED, MAX_VERSION, WrongPrompt, check_prompt
from tests.unit.scheduler.engine.failing_case import ADA, TICKS, Dreams, ended, readable
from tests.unit.tasks.own_kind_case import Own, Said, remembered


def fail(case: Case) -> Any:
    raise KeyError("what Ada remembers")


def leave(case: Case) -> Any:
    def unending(depth: int) -> int:
        return unending(depth + 1)

    return unending(0)


def itself(case: Case) -> Any:
    loop: dict[str, Any] = {}
    loop["x"] = loop
    return remembered(case, subjects=loop)


class Exploding(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("not now")


class Masked:
    """An object whose class cannot even be asked for."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("Ada remembers")


class Owned:
    """No effect; it has an owner that cannot be asked for."""

    @property
    def owner(self) -> str:
        raise RuntimeError("Ada remembers")


class Bad(dict[str, Any]):
    """Values that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("Ada remembers")

    __ne__ = __eq__
    __hash__ = None  # type: ignore[assignment]


def fail_with(error: BaseException) -> Callable[[Case], Any]:
    def heuristic(case: Case) -> Any:
        raise error

    return heuristic


FAILING: dict[str, tuple[Callable[[Case], Any], str]] = {
    "a dream": (lambda case: remembered(case, type="dream"), "Invalid enum value 'dream'"),
    "importance 77": (lambda case: remembered(case, importance=77), "importance 77 is not from 1 to 10"),
    "minute -5": (lambda case: remembered(case, minute=-5), "minute -5 is not from 0"),
    "no text": (lambda case: remembered(case, text=""), "text is blank"),
    "text none": (lambda case: remembered(case, text=None), "Expected `str`, got `null`"),
    "half a character": (lambda case: remembered(case, text="\ud83d"), "surrogates"),
    "five megabytes": (lambda case: remembered(case, text="hum " * 1_250_000), "bytes of JSON"),
    "none": (lambda case: None, "): NoneType is not a tuple of effects"),
    "a generator": (lambda case: (effect for effect in remembered(case)), "): generator is not a tuple"),
    "no owner": (lambda case: (SetCounter("nobody", "x", 1),), "'nobody' is not an owner"),
    "a cycle": (itself, "): effect for 'agent:ada'"),
    "an error": (fail, "kind 'hum': heuristic raised KeyError in test_failing_kinds.py, line"),
    "an end": (fail_with(GeneratorExit()), "kind 'hum': heuristic raised GeneratorExit in"),
    "an error of its own": (fail_with(BaseException("Ada remembers")), "kind 'hum': heuristic raised BaseException in"),
    "an error that explodes": (fail_with(Exploding()), "kind 'hum': heuristic raised Exploding in"),
    "a mask": (lambda case: (Masked(),), "): effect for '?' (Masked): that is not an effect"),
    "a mask alone": (lambda case: Masked(), "): Masked is not a tuple of effects"),
    "an owner that raises": (lambda case: (Owned(),), "): effect for '?' (Owned): that is not an effect"),
    "data that raise": (
        lambda case: (Tell("agent:ada", "tune", Bad(a=1)),),
        "): RuntimeError was raised while the effects were checked",
    ),
    "no end": (leave, "kind 'hum': heuristic raised RecursionError in test_failing_kinds.py, line"),
}


@pytest.mark.parametrize(("makes", "why"), FAILING.values(), ids=FAILING)
@pytest.mark.parametrize("limits", [{}, {"day.kind:hum.jobs": 0}], ids=["by a worker", "by the host"])
def test_a_heuristic_that_fails_ends_neither_host_nor_worker(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, makes: Callable[[Case], Any], why: str, limits: Any
) -> None:
    register(Own(makes=makes))
    client = FakeRedis()
    loop = cogitate_loop(owners=ADA, ticks=TICKS, client=client, settings=Settings(data_dir=tmp_path, limits=limits))
    with capture_logs() as logs:
        changes = [change for tick in loop for change in tick.applied]
    assert changes == []
    found = ended(client)
    assert len(found) == TICKS - 1
    reason = "denied" if limits else "failed"
    assert {(end.end, end.reason, end.effects, note.failure) for end, note in found} == {
        ("applied", reason, (), "effects_refused")
    }
    assert all(why in note.refusal for _, note in found)
    assert all("Ada remembers" not in note.refusal for _, note in found), "no memory is disclosed"
    assert summarise_run(client, "test").warnings == {"job.effects_refused": TICKS - 1}
    told = [entry for entry in logs if entry["event"] == "job.effects_refused"]
    assert [entry["kind"] for entry in told] == ["hum"] * (1 if limits else 2), "once by the host, once by its worker"
    assert all(why in entry["why"] and entry["log_level"] == "warning" for entry in told)
    readable(client, loop)


def test_a_corrected_kind_continues_its_run(cogitate_loop: Callable[..., TickLoop]) -> None:
    client = FakeRedis()
    register(Own(makes=lambda case: remembered(case, type="dream")))
    for _ in cogitate_loop(owners=ADA, ticks=2, client=client):
        pass
    register(Own())
    loop = cogitate_loop(owners={}, ticks=TICKS, client=client, exist="resume")
    texts = [change.entry.text for tick in loop for change in tick.applied if change.entry]
    assert texts == ["I hummed."] * (TICKS - 3), "all but what was thought before"
    readable(client, loop)


@pytest.mark.parametrize("error", [GeneratorExit(), BaseException("b"), Exploding(), ValueError("\ud800")])
def test_a_call_is_settled_even_if_its_kind_fails(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(case: Case, answer: Any) -> Any:
        raise error

    monkeypatch.setattr("cogitate.workers.jobs.runner.ModelClients", Dreams)
    register(Own(answers=fail, output_cap=100))
    client = FakeRedis()
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path, llm="openai", limit_tokens=1_000_000, base_url=endpoint.url, api_key="any", rate_share=0
        )
        loop = cogitate_loop(owners=ADA, ticks=TICKS, client=client, settings=settings)
        for _ in loop:
            pass
    check = "kind" if isinstance(error, ValueError) else "kind_failed"
    assert {(note.source, note.failure, note.attempts, note.usage.calls) for _, note in ended(client)} == {
        ("heuristic", f"unusable:{check}", 2, 1)
    }
    readable(client, loop)


def made(**fields: Any) -> Callable[[], Any]:
    return lambda: Prompt(**{"system": "Hum.", "user": "A tune.", "answer": Said, "version": "1"} | fields)


def raised(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


class Mood(StrEnum):
    GLAD = "glad"


RAISED = "kind 'hum': prompt raised "
Halved = create_model("Halved", text=(str, Field(description="\ud800")))

#: What `prompt` does, the class of the error and what is told of it.
PROMPTS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "raises": (raised(ZeroDivisionError("Ada remembers")), "ZeroDivisionError", RAISED),
    "is closed": (raised(GeneratorExit()), "GeneratorExit", RAISED),
    "none": (lambda: None, "WrongPrompt", "prompt returned a NoneType: return a Prompt"),
    "version none": (made(version=None), "WrongPrompt", "version is a NoneType: give a string"),
    "version 5": (made(version=5), "WrongPrompt", "version is a int: give a string"),
    "version long": (made(version="1" * 501), "WrongPrompt", "version has 501 characters, at most 500 fit"),
    "half a version": (made(version="\ud800"), "WrongPrompt", "version has a lone surrogate"),
    "half a system": (made(system="Hum \ud800"), "WrongPrompt", "system has a lone surrogate"),
    "half a user": (made(user="Hum \udc00"), "WrongPrompt", "user has a lone surrogate"),
    "user bytes": (made(user=b"Ada remembers"), "WrongPrompt", "user is a bytes: give a string"),
    "answer none": (made(answer=None), "WrongPrompt", "answer is a NoneType: give a class"),
    "answer a dict": (made(answer=dict), "WrongPrompt", "answer is dict: give a class of pydantic's BaseModel"),
    "answer an instance": (made(answer=Said(text="x")), "WrongPrompt", "answer is a Said: give a class"),
    "answer half a word": (made(answer=Halved), "WrongPrompt", "the schema of answer has a lone surrogate"),
    "used none": (made(used=None), "WrongPrompt", "used is a NoneType: give a tuple of entry numbers"),
    "used a word": (made(used=("1",)), "WrongPrompt", "used names a str that is not the number of an entry"),
    "used zero": (made(used=(0,)), "WrongPrompt", "used names a int that is not the number of an entry"),
}


@pytest.mark.parametrize(("does", "error", "why"), PROMPTS.values(), ids=PROMPTS)
def test_a_prompt_that_fails_costs_nothing_and_the_heuristic_takes_its_place(
    cogitate_loop: Callable[..., TickLoop],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    does: Callable[[], Any],
    error: str,
    why: str | None,
) -> None:
    def unfinished(self: Own, case: Case, memory_share: float = 1.0) -> Prompt:
        return does()  # type: ignore[no-any-return]  # whatever it is

    monkeypatch.setattr(Own, "prompt", unfinished)
    register(Own(output_cap=100))
    client = FakeRedis()
    with FakeEndpoint() as endpoint, capture_logs() as logs:
        settings = Settings.tuned(
            data_dir=tmp_path, llm="openai", limit_tokens=1_000_000, base_url=endpoint.url, api_key="any", rate_share=0
        )
        loop = cogitate_loop(owners=ADA, ticks=TICKS, client=client, settings=settings)
        for _ in loop:
            pass
    assert {(note.source, note.failure, note.usage) for _, note in ended(client)} == {
        ("heuristic", "prompt_failed", Cost())
    }
    told = [entry for entry in logs if entry["event"] == "job.prompt_failed"]
    assert {(entry["kind"], entry["error"]) for entry in told} == {("hum", error)}
    assert all(entry["why"].startswith(why) for entry in told)
    assert "Ada remembers" not in repr(logs)
    readable(client, loop)


def test_a_prompt_may_name_so_many_entries_and_numbers_that_every_reader_of_json_holds() -> None:
    assert check_prompt(made(used=(MAX_NUMBER, 1))()).used == (2**53 - 1, 1)
    assert len(check_prompt(made(used=(1,) * MAX_USED)()).used) == MAX_USED
    for used in ((2**53,), (1,) * (MAX_USED + 1), (True,), (1.0,)):
        with pytest.raises(WrongPrompt, match="used names"):
            check_prompt(made(used=used)())
    assert check_prompt(made(version="x" * MAX_VERSION)()).version == "x" * MAX_VERSION
    with pytest.raises(WrongPrompt, match="version has"):
        check_prompt(made(version="x" * (MAX_VERSION + 1))())


def test_text_of_another_class_of_strings_is_sent_as_the_string_that_it_is() -> None:
    prompt = check_prompt(made(user=Mood.GLAD, version=Mood.GLAD, used=[3, 1])())
    assert (type(prompt.user), prompt.user, type(prompt.version), prompt.used) == (str, "glad", str, (3, 1))


def test_a_kind_that_refuses_an_answer_is_named_with_method_and_line(
    cogitate_loop: Callable[..., TickLoop], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(case: Case, answer: Any) -> Any:
        raise ValueError("what Ada remembers")

    monkeypatch.setattr("cogitate.workers.jobs.runner.ModelClients", Dreams)
    register(Own(answers=refuse, output_cap=100))
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path, llm="openai", limit_tokens=1_000_000, base_url=endpoint.url, api_key="any", rate_share=0
        )
        loop = cogitate_loop(owners=ADA, ticks=TICKS, client=FakeRedis(), settings=settings)
        whys = {end.why for tick in loop for end in tick.ended if end.kind == "hum"}
    (why,) = whys
    assert re.match(
        r"unusable:kind, since kind 'hum': effects \(own_kind_case.py, line \d+\) raised ValueError in ", why
    )
    assert "Ada" not in why


@pytest.mark.parametrize("failure", ["prompt_failed", "effects_refused", "unusable:kind_failed"])
def test_a_kinds_fault_is_not_a_models(failure: str) -> None:
    found: Shortfalls = {}
    key = JobKey(1, "hum", "agent:ada", 0, 0)
    note = EndNote(key=key, source="heuristic", model="small", failure=failure)
    note_shortfall(found, Ended(key=key, end="applied", reason="failed"), note, "small", 2, 2)
    assert found == {}
    assert format_failure(failure) == "the kind's own code failed"

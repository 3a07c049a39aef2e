"""Whatever lies in a queue is a hint for one job of its kind, or it is refused: nothing else is ever raised."""

from __future__ import annotations

import copy
import json
from binascii import b2a_base64
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from cogitate.tasks.job import Job, JobKey, split_job_id
from cogitate.workers.celery_app import make_app
from cogitate.workers.jobs.process_lane import run_job
from cogitate.workers.publish import Template
from cogitate.workers.transport.hints import MessageRefused, check_envelope, check_hint

JOB = Job(run="town", key=JobKey(420, "plan", "agent:ann", 0, 0), minute=420, due=425, reads=())
HINT: dict[str, Any] = json.loads(Template(make_app("redis://localhost/1"), "plan").render(JOB, "a-tag"))
HOSTILE: tuple[Any, ...] = (
    None,
    -1,
    2**70,
    True,
    1.5,
    "",
    "é" * 3,
    "\ud800",
    "x" * 10_000,
    [],
    {},
    [[]],
    {"a": {}},
    "cos\nsystem\n(S'true'\ntR.",
    "application/x-python-serialize",
    "pickle",
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a message something can be changed."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in inner for found in ((*path, key), *places(item, (*path, key)))]


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    message: Any = copy.deepcopy(HINT)
    at = message
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    found: dict[str, Any] = message
    return found


def with_body(body: Any) -> dict[str, Any]:
    return changed(("body",), b2a_base64(json.dumps(body).encode(), newline=False).decode())


@pytest.mark.parametrize(("length", "refused"), [(512, False), (513, True)])
def test_a_job_id_has_at_most_512_characters(length: int, refused: bool) -> None:
    start, end = "town/420/plan/agent:", "/0/0"
    job_id = start + "a" * (length - len(start) - len(end)) + end
    assert len(job_id) == length
    if refused:
        with pytest.raises(MessageRefused, match="513 characters is longer than 512"):
            check_hint(with_body([[job_id], {}, {}]), "plan")
    else:
        assert check_hint(with_body([[job_id], {}, {}]), "plan") == job_id


@pytest.mark.parametrize("kind", ["reflect", "act"])
def test_a_hint_is_for_a_job_of_the_kind_of_its_task(kind: str) -> None:
    with pytest.raises(MessageRefused, match=f"expected a job of kind 'plan', found 'plan' for {kind!r}"):
        check_hint(with_body([[f"town/420/{kind}/agent:ann/0/0"], {}, {}]), "plan")


def test_unknown_fields_of_a_message_are_ignored() -> None:
    message = changed(("headers", "later"), {"a": 1})
    assert check_hint(message, "plan") == check_hint(HINT, "plan")
    assert check_hint(changed(("later",), 1), "plan") == check_hint(HINT, "plan")


@pytest.mark.parametrize("junk", ["\n", "!", "=", " "])
def test_a_body_is_strict_base64(junk: str) -> None:
    with pytest.raises(MessageRefused):
        check_hint(changed(("body",), HINT["body"] + junk), "plan")


@pytest.mark.parametrize(
    "job_ids",
    [
        [],
        ["town/1/plan/agent:a/0/0", "town/1/plan/agent:b/0/0"],
    ],
    ids=["none", "two"],
)
def test_a_message_hints_at_one_job(job_ids: list[str]) -> None:
    with pytest.raises(MessageRefused):
        check_hint(with_body([job_ids, {}, {}]), "plan")


@pytest.mark.parametrize(
    "properties", [None, {}, {"delivery_tag": "t"}, HINT["properties"] | {"body_encoding": "utf-8"}]
)
def test_messages_that_kombu_cannot_open_are_refused(properties: Any) -> None:
    check_envelope({"headers": {}, "properties": HINT["properties"], "body": HINT["body"]})
    with pytest.raises(MessageRefused):
        check_envelope({"headers": {}, "properties": properties, "body": HINT["body"]})


def refused_or_right(message: Any) -> None:
    with suppress(MessageRefused):
        job_id = check_hint(message, "plan")
        assert split_job_id(job_id)[1].kind == "plan"
        job_id.encode()


def test_an_untouched_hint_passes() -> None:
    assert check_hint(HINT, "plan") == JOB.id


@given(json_values)
def test_anything_that_is_json(value: Any) -> None:
    refused_or_right(value)
    with suppress(MessageRefused):
        check_envelope(value)


@given(st.sampled_from(places(HINT)), st.sampled_from(HOSTILE) | json_values)
def test_any_field_changed(path: tuple[Any, ...], value: Any) -> None:
    message = changed(path, value)
    refused_or_right(message)
    with suppress(MessageRefused):
        check_envelope(message)


@given(json_values)
@example([["town/1/plan/agent:ann/0/0"], {}, {"chain": ["rm"]}])
@example([["town/1/plan/agent:ann/0/0", "more"], {}, {}])
@example([["town/1/plan/agent:ann/0/0", "town/1/plan/agent:ben/0/0"], {}, {}])
@example([["town/1/plan/\ud800/0/0"], {}, {}])
@example([["../{x}:/1/plan/agent:ann/0/0"], {}, {}])
@example([["town/" + "9" * 450 + "/plan/agent:ann/0/0"], {}, {}])
def test_any_body(body: Any) -> None:
    refused_or_right(with_body(body))


@pytest.mark.parametrize("kind", ["", "prune", "celery.backend_cleanup", "plan\x00"])
def test_a_message_of_another_task_is_refused(kind: str) -> None:
    with pytest.raises(MessageRefused):
        check_hint(changed(("headers", "task"), kind), "plan")


@pytest.mark.parametrize("content", ["application/x-python-serialize", "application/x-yaml", "pickle", "text/plain"])
def test_only_json_is_accepted(content: str) -> None:
    with pytest.raises(MessageRefused):
        check_hint(changed(("content-type",), content), "plan")
    assert make_app("redis://localhost/1").conf.accept_content == ["json"]


def test_a_body_nested_beyond_reading_is_refused() -> None:
    message = changed(("body",), b2a_base64(b"[" * 100_000, newline=False).decode())
    with pytest.raises(MessageRefused):
        check_hint(message, "plan")


@pytest.mark.parametrize(
    "job_id", ["", "town", "town/x/plan/agent:a/0/0", None, 7, [], b"x", "/1/plan/a/0/0", "a" * 10**6]
)
def test_a_task_called_with_anything_else_does_nothing(job_id: Any) -> None:
    with capture_logs() as logs:
        run_job(job_id)
    assert [entry["event"] for entry in logs] == ["message.refused"]
    assert all(len(str(entry)) < 1_000 for entry in logs)

"""Memories, events, steering, status and leaving: what a host asks of the gateway beside its ticks."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any

import msgspec
import pytest
from fakeredis import FakeRedis

from cogitate import Location, MemoryView, Profile
from cogitate.hosting.protocol.messages import LocationFields, ProfileFields
from cogitate.memory import Scored
from cogitate.scheduler.inspection.audit import audit
from tests.gateway_client import Client, Served, serving
from tests.patience import LONGEST
from tests.unit.gateway.village_case import ADA, BEN, OPEN, STATEMENT, turn

LAST = 400


def test_the_protocol_takes_each_field_of_a_profile_and_a_location() -> None:
    for message, struct in ((ProfileFields, Profile), (LocationFields, Location)):
        assert list(message.model_fields) == [field.name for field in msgspec.structs.fields(struct)]


@pytest.fixture(scope="module")
def lived() -> Iterator[Served]:
    """A gateway at which the village has lived until its plans are made."""
    with serving() as served:
        served.client.answer("/runs/v/open", OPEN | {"ticks": None})
        for number in range(1, LAST):
            served.client.answer(f"/runs/v/ticks/{number}", turn(number))
        yield served


def plain(value: object) -> Any:
    """Return what Python reads in the types of JSON."""
    return json.loads(msgspec.json.encode(value))


def scored(found: Iterable[Scored]) -> list[dict[str, Any]]:
    """Return what a search in Python found."""
    return [asdict(one) for one in found]


QUESTIONS: list[tuple[dict[str, Any], Any]] = [
    ({"read": "recall", "query": "the bell", "limit": 3}, lambda view: scored(view.recall("the bell", limit=3))),
    (
        {"read": "recall", "about": [BEN], "types": ["observation", "message"], "since": 9, "profile": "spec"},
        lambda view: scored(view.recall("", about=BEN, types=("observation", "message"), since=9, profile="spec")),
    ),
    ({"read": "recent", "limit": 4}, lambda view: view.recent(4)),
    ({"read": "by_type", "type": "plan"}, lambda view: view.by_type("plan")),
    ({"read": "about", "subject": "Ben Cole", "limit": 2}, lambda view: view.about("Ben Cole", 2)),
    ({"read": "between", "start": 70, "end": 100}, lambda view: view.between(70, 100)),
    ({"read": "reflections"}, lambda view: view.reflections()),
    (
        {"read": "conversations"},
        lambda view: [{"participants": talk.participants, "entries": talk.entries} for talk in view.conversations()],
    ),
    ({"read": "relationships"}, lambda view: [asdict(one) for one in view.relationships()]),
    ({"read": "plan"}, lambda view: asdict(view.plan())),
    ({"read": "summary"}, lambda view: view.summary),
    ({"read": "character"}, lambda view: view.character),
    ({"read": "context", "query": "the bell", "tokens": 200}, lambda view: view.context("the bell", tokens=200)),
]


@pytest.mark.parametrize(("question", "read"), QUESTIONS, ids=[one["read"] for one, _ in QUESTIONS])
def test_the_gateway_reads_what_python_reads(lived: Served, question: dict[str, Any], read: Any) -> None:
    view: MemoryView = lived.table.get("host", "v").loop.memory(ADA)
    found = lived.client.answer("/runs/v/memory", {"owner": ADA, **question})
    assert found["found"] == plain(read(view))
    assert found["found"] or question["read"] in ("summary", "character", "conversations", "relationships")
    assert found["minute"] == view.minute == LAST - 1


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ({"read": "recent", "owner": "agent:nobody"}, "input_refused"),
        ({"read": "dream", "owner": ADA}, "malformed"),
        ({"read": "recent"}, "malformed"),
        ({"read": "recent", "owner": ADA, "query": "x"}, "malformed"),
        ({"read": "between", "owner": ADA, "start": 9, "end": 3}, "input_refused"),
        ({"read": "recall", "owner": ADA, "profile": "nonsense"}, "input_refused"),
    ],
)
def test_an_invalid_query_is_refused(lived: Served, question: dict[str, Any], code: str) -> None:
    found = lived.client.post("/runs/v/memory", question)
    assert (found.status, found.body["code"]) == (422, code)


@pytest.mark.parametrize(
    ("path", "message", "says"),
    [
        (
            "/runs/v/ticks/400",
            {"observation": []},
            "observation []: there is no such field; did you mean observations?",
        ),
        (
            "/runs/v/ticks/400",
            {"observations": [{"owner": ADA, "texts": "x"}]},
            "observations.0.texts 'x': there is no such field; did you mean text?",
        ),
        (
            "/runs/v/ticks/400",
            {"events": [{"event": STATEMENT | {"speakers": BEN}}]},
            f"events.0.event.speakers {BEN!r}: there is no such field; did you mean speaker?",
        ),
        (
            "/runs/v/memory",
            {"read": "summary", "owner": ADA, "zzz": 1},
            "summary.zzz 1: there is no such field; the fields are owner, read",
        ),
    ],
)
def test_an_unknown_field_is_refused_with_the_known_ones(
    lived: Served, path: str, message: dict[str, Any], says: str
) -> None:
    found = lived.client.post(path, message)
    assert (found.status, found.body["code"], found.body["message"]) == (422, "malformed", says)


def test_a_missing_owner_joins_by_a_message(lived: Served) -> None:
    unknown = {"owner": "agent:zoe", "text": "A bell rang."}
    found = lived.client.post("/runs/v/ticks/400", {"observations": [unknown]}).body
    assert found["message"] == "there is no owner 'agent:zoe' in this run"
    assert '"joins" of a turn' in found["do"]


def test_a_missing_run_cannot_be_reopened(lived: Served) -> None:
    found = lived.client.get("/runs/nope")
    assert (found.status, found.body["code"]) == (404, "run_missing")
    assert "create" in found.body["do"]


def connected(client: Client) -> closing[http.client.HTTPConnection]:
    """Return a connection to the gateway."""
    return closing(http.client.HTTPConnection(client.where.hostname or "", client.where.port, timeout=LONGEST))


def events(client: Client, path: str, count: int, **headers: str) -> list[Any]:
    """The data of so many server-sent events."""
    with connected(client) as connection:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        assert response.getheader("content-type", "").startswith("text/event-stream")
        found: list[Any] = []
        number = ""
        while len(found) < count:
            line = response.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                number = line[4:]
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
                assert number == str(found[-1]["tick"])
        return found


def test_events_replay_the_replies_from_any_tick(lived: Served) -> None:
    client = lived.client
    answers = [client.answer(f"/runs/v/ticks/{number}", turn(number)) for number in range(300, LAST)]
    assert events(client, "/runs/v/events?after=299", 100) == answers
    assert events(client, "/runs/v/events?after=3", 1, Last_Event_ID="398") == answers[-1:]


def test_each_commit_sends_an_event_and_the_run_ends_the_stream() -> None:
    with serving() as (client, _):
        client.answer("/runs/v/open", OPEN | {"ticks": 3})
        with connected(client) as listener:
            listener.request("GET", "/runs/v/events")
            stream = listener.getresponse()
            assert stream.readline() == b": ticks of a run\n"
            answers = []
            for number in (1, 2, 3):
                answers.append(client.answer(f"/runs/v/ticks/{number}", {}))
                while not (line := stream.readline()).startswith(b"data: "):
                    assert line
                assert json.loads(line[6:]) == answers[-1]
            assert stream.read() == b"\n"
        assert answers[-1]["over"]


def test_leaving_a_run_releases_its_listeners() -> None:
    with serving() as (client, _):
        client.answer("/runs/v/open", OPEN)
        with connected(client) as listener:
            listener.request("GET", "/runs/v/events")
            stream = listener.getresponse()
            assert stream.readline() == b": ticks of a run\n"
            client.answer("/runs/v/close", {})
            assert stream.read() == b"\n"


def test_steering_applies_from_the_next_tick() -> None:
    redis = FakeRedis()
    with serving(redis) as (client, table):
        client.answer("/runs/v/open", OPEN)
        for message in (
            {"limit": "day.run.calls", "value": 5},
            {"throttle": "reflect", "factor": 0.5, "pinned": True},
            {"mode": "draining"},
        ):
            assert client.answer("/runs/v/steer", message)["state"] == "waits"
        answer = client.answer("/runs/v/ticks/1", {})
        state = table.get("host", "v").loop.state
        assert {".".join(name): limit for name, limit in state.view.table}["day.run.calls"] == 5
        assert state.steering.mode in ("draining", "drained")
        status = client.get("/runs/v/status").body
        assert (status["run"], status["summary"]["tick"]) == ("v", 1)
        assert client.answer("/runs/v/ticks/1", {}) == answer
        assert client.tick("v", 2).body.get("over", True)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"mode": "running", "throttle": "reflect"},
        {"mode": "faster"},
        {"limit": "calls", "value": 1},
        {"limit": "day.run.calls", "value": -1},
        {"throttle": "plan", "factor": 0.5},
        {"throttle": "reflect", "factor": 2},
    ],
)
def test_an_invalid_request_is_refused(lived: Served, message: dict[str, Any]) -> None:
    found = lived.client.post("/runs/v/steer", message)
    assert (found.status, found.body["code"]) == (422, "malformed")


def test_a_run_that_is_left_can_be_reopened() -> None:
    redis = FakeRedis()
    with serving(redis) as (client, _):
        client.answer("/runs/v/open", OPEN)
        one = client.answer("/runs/v/ticks/1", {"events": [{"event": STATEMENT}]})
        assert client.answer("/runs/v/close", {}) == {"run": "v", "tick": 1, "digest": one["digest"]}
        assert client.get("/runs/v").body["code"] == "not_open"
        assert client.answer("/runs/v/open", OPEN | {"exist": "resume"})["next"] == 2
        assert client.answer("/runs/v/open", OPEN | {"exist": "replace"})["next"] == 1
        assert client.answer("/runs/v/memory", {"read": "recent", "owner": ADA})["found"] == []
    assert audit(redis, "v") == []


def test_importing_the_package_loads_no_server() -> None:
    code = (
        "import sys, cogitate, cogitate.ops.cli; sys.exit(any(name in sys.modules for name in ('fastapi', 'uvicorn')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Ticks of a gateway: each is committed once, however often it is posted, and gets one answer."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fakeredis import FakeRedis

from cogitate.scheduler.config.controls import SetMode
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.steering.operators import ask
from tests.conftest import Eventually
from tests.gateway_client import Client, Served, serving
from tests.patience import LONGEST
from tests.unit.gateway.village_case import ADA, OPEN

SEEN = {"observations": [{"owner": ADA, "text": "A stranger came.", "importance": 5}]}


@pytest.fixture
def served() -> Iterator[Served]:
    """A gateway at which the village is open."""
    with serving() as served:
        served.client.answer("/runs/v/open", OPEN)
        yield served


def seen(client: Client) -> list[str]:
    """What Ada remembers."""
    found = client.answer("/runs/v/memory", {"read": "recent", "owner": ADA})["found"]
    return [one["text"] for one in found]


def test_a_repeated_tick_gets_the_same_answer_and_happens_once(served: Served) -> None:
    client = served.client
    first = client.tick("v", 1, SEEN)
    assert [client.tick("v", 1, SEEN) for _ in range(2)] == [first, first]
    second = client.tick("v", 2)
    assert client.tick("v", 1, SEEN).body == first.body, "an older one as well"
    assert client.tick("v", 2).body == second.body
    assert seen(client) == ["A stranger came."]


def test_spaces_order_and_defaults_do_not_make_another_turn(served: Served) -> None:
    client = served.client
    first = client.tick("v", 1, SEEN)
    text = b' {"requests": [], "observations" :[{"text":"A stranger came.","importance":5, "owner":"agent:ada"}]}'
    assert client.send("POST", "/runs/v/ticks/1", text, Content_Type="application/json").body == first.body


def test_another_gateway_gives_the_same_answers_after_a_restart() -> None:
    redis = FakeRedis()
    with serving(redis) as (client, _):
        client.answer("/runs/v/open", OPEN)
        answers = [client.answer(f"/runs/v/ticks/{n}", SEEN if n == 361 else {}) for n in range(1, 371)]
    assert any(answer["applied"] for answer in answers)
    with serving(redis) as (client, _):
        assert client.tick("v", 370).body["code"] == "not_open"
        again = client.answer("/runs/v/open", {**OPEN, "exist": "resume"})
        assert (again["tick"], again["digest"]) == (370, answers[-1]["digest"])
        for n in (361, *(one["tick"] for one in answers if one["applied"]), 370):
            assert client.answer(f"/runs/v/ticks/{n}", SEEN if n == 361 else {}) == answers[n - 1]
        assert client.tick("v", 361).body["code"] == "another_turn"
        assert client.tick("v", 371).status == 200
    assert audit(redis, "v") == []


@pytest.mark.parametrize(("posted", "code"), [(3, "out_of_order"), (400, "out_of_order"), (1, "another_turn")])
def test_a_tick_that_cannot_be_is_refused_with_the_one_expected(served: Served, posted: int, code: str) -> None:
    client = served.client
    client.tick("v", 1)
    refused = client.tick("v", posted, SEEN)
    assert (refused.status, refused.body["code"], refused.body["expected_tick"]) == (409, code, 2)
    assert seen(client) == []
    assert client.tick("v", 2, SEEN).status == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"observations": [{"owner": ADA, "text": "Kept?"}, {"owner": "agent:nobody", "text": "No."}]},
        {"observations": [{"owner": ADA, "text": "Kept?"}, {"owner": ADA, "text": "No.", "minute": 10**9}]},
        {"observations": [{"owner": ADA, "text": "Kept?"}], "requests": [{"kind": "dance", "owner": ADA}]},
        {"observations": [{"owner": ADA, "text": "Kept?"}], "effects": [{"type": "conjure", "owner": ADA}]},
        {"observations": [{"owner": ADA, "text": "Kept?"}], "briefs": {ADA: {"lokation": "forge"}}},
        {"observations": [{"owner": ADA, "text": "Kept?"}], "briefs": {"agent:nobody": {}}},
        {"joins": {"agent:new": {"name": "New"}}, "leaves": ["agent:nobody"]},
        {"checkpoint": "half", "events": [{"event": {"kind": "unheard_of", "speaker": ADA}}]},
    ],
)
def test_a_turn_with_one_wrong_part_leaves_nothing_behind(served: Served, wrong: dict[str, Any]) -> None:
    """Neither of the first tick, with which the run's owners join, nor of a later one."""
    client = served.client
    with serving() as (other, _):
        other.answer("/runs/v/open", OPEN)
        for number in (1, 2):
            refused = client.tick("v", number, wrong)
            assert (refused.status, refused.body["code"]) == (422, "input_refused"), refused
            assert refused.body["do"]
            assert client.answer(f"/runs/v/ticks/{number}", SEEN) == other.answer(f"/runs/v/ticks/{number}", SEEN)
    stand = client.get("/runs/v").body
    assert (stand["owners"], stand["checkpoint"]) == (sorted(OPEN["owners"]), None)
    assert seen(client) == ["A stranger came."]


def test_a_host_that_disappears_in_mid_tick_loses_nothing(served: Served, eventually: Eventually) -> None:
    client, table = served
    loop = table.get("host", "v").loop._loop
    gather, go_on, waits = loop.collector.gather, threading.Event(), threading.Event()

    def held(*given: Any) -> Any:
        waits.set()
        assert go_on.wait(LONGEST)
        return gather(*given)

    loop.collector.gather = held  # type: ignore[method-assign]
    body = json.dumps(SEEN).encode()
    with socket.create_connection((client.where.hostname, client.where.port)) as gone:
        gone.sendall(
            b"POST /runs/v/ticks/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        assert waits.wait(LONGEST)
    busy = client.tick("v", 1, {"observations": []} | {"leaves": [ADA]})
    assert (busy.status, busy.body["code"], busy.body["expected_tick"]) == (409, "another_turn", 1)
    assert client.tick("v", 2).body["expected_tick"] == 1
    go_on.set()
    eventually(lambda: client.get("/runs/v").body["tick"] == 1, "the tick is committed")
    assert client.tick("v", 1, SEEN).status == 200
    assert seen(client) == ["A stranger came."]


def test_half_a_body_is_not_a_turn(served: Served, eventually: Eventually) -> None:
    client, _ = served
    with socket.create_connection((client.where.hostname, client.where.port)) as gone:
        gone.sendall(
            b"POST /runs/v/ticks/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b'Content-Length: 500\r\n\r\n{"observations": ['
        )
        gone.shutdown(socket.SHUT_WR)
        gone.recv(1)  # the server has seen that no more comes
    assert client.get("/runs/v").body["tick"] == 0
    assert client.tick("v", 1, SEEN).status == 200


def test_many_that_post_one_tick_at_once_get_one_answer(served: Served) -> None:
    client = served.client
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(client.tick("v", 1, SEEN).body)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [found[0]] * 8
    assert found[0]["tick"] == 1
    assert seen(client) == ["A stranger came."]


def test_a_paused_run_accepts_a_turn_and_replies_once_resumed() -> None:
    redis = FakeRedis()
    with serving(redis, patience=0.05) as (client, _):
        client.answer("/runs/v/open", OPEN)
        assert client.answer("/runs/v/steer", {"mode": "paused"})["state"] == "waits"
        assert client.finished_tick("v", 1).status == 200
        for _ in range(2):
            waiting = client.tick("v", 2, SEEN)
            assert (waiting.status, waiting.body["code"], waiting.headers["retry-after"]) == (503, "not_yet", "1")
        assert seen(client) == [], "memories can be read meanwhile"
        ask(redis, "v", [SetMode("running")], wait=0)
        answer = client.finished_tick("v", 2, SEEN)
        assert (answer.status, answer.body["tick"]) == (200, 2)
        assert seen(client) == ["A stranger came."]


def test_a_gateway_that_ends_takes_no_turn_that_waits(eventually: Eventually) -> None:
    redis = FakeRedis()
    with serving(redis, patience=0.05) as (client, _):
        client.answer("/runs/v/open", OPEN)
        client.answer("/runs/v/steer", {"mode": "paused"})
        client.finished_tick("v", 1)
        assert client.tick("v", 2, SEEN).status == 503
    ask(redis, "v", [SetMode("running")], wait=0)
    with serving(redis) as (client, _):
        assert client.answer("/runs/v/open", {**OPEN, "exist": "resume"})["tick"] == 1
        assert client.tick("v", 2, SEEN).status == 200
        assert seen(client) == ["A stranger came."]


def test_a_turn_waiting_while_its_run_is_left_is_told_to_reopen_it(served: Served) -> None:
    client, table = served
    loop = table.get("host", "v").loop._loop
    waits, pause = threading.Event(), loop.collector.pause

    def paused(*given: Any) -> None:
        waits.set()
        pause(*given)

    loop.collector.pause = paused  # type: ignore[method-assign]
    client.answer("/runs/v/steer", {"mode": "paused"})
    client.tick("v", 1)
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(client.tick("v", 2, SEEN)))
    waiting.start()
    assert waits.wait(LONGEST)
    client.answer("/runs/v/close", {})
    waiting.join(LONGEST)
    assert [(one.status, one.body["code"]) for one in found] == [(409, "not_open")]
    assert client.answer("/runs/v/open", {**OPEN, "exist": "resume"})["tick"] == 1


def test_a_world_continues_from_its_checkpoint_without_duplicates() -> None:
    redis = FakeRedis()
    with serving(redis) as (client, _):
        client.answer("/runs/v/open", OPEN)
        turns = {n: SEEN if n == 8 else {"checkpoint": f"tick {n}"} if n == 6 else {} for n in range(1, 11)}
        answers = {n: client.answer(f"/runs/v/ticks/{n}", turns[n]) for n in turns}
    with serving(redis) as (client, _):
        stand = client.answer("/runs/v/open", {**OPEN, "exist": "resume"})
        assert (stand["checkpoint"], stand["checkpoint_tick"], stand["next"]) == ("tick 6", 6, 11)
        for n in range(stand["checkpoint_tick"] + 1, stand["next"]):
            assert client.answer(f"/runs/v/ticks/{n}", turns[n]) == answers[n]
        assert client.tick("v", 11).status == 200
        assert seen(client) == ["A stranger came."]
    assert audit(redis, "v") == []

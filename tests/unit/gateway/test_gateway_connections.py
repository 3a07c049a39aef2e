"""Connections that break off, stay half open, come in a flood or bring what is no request: hosts are served on."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from cogitate.ops.gateway.server import BoundedConnection
from tests.gateway_client import Client, serving
from tests.patience import LONGEST
from tests.unit.gateway.village_case import OPEN

TOKEN = "a-token-of-the-game"
HEADERS = b"POST /runs/v/ticks/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class Hasty(BoundedConnection):
    """A connection whose requests have next to no time."""

    headers_within = body_within = 0.05


class Narrow(BoundedConnection):
    """A connection of a gateway that has room for three."""

    most = 3


@contextmanager
def connected(client: Client, sent: bytes = b"") -> Iterator[socket.socket]:
    """A connection on which something was sent."""
    with socket.create_connection((client.where.hostname, client.where.port), timeout=LONGEST) as connection:
        connection.sendall(sent)
        yield connection


def rest(connection: socket.socket) -> bytes:
    """All that comes until the gateway closes the connection."""
    found = b""
    try:
        while part := connection.recv(65_536):
            found += part
    except ConnectionResetError:
        pass
    return found


def test_hosts_that_go_away_in_mid_body_leave_a_line_each_and_no_word_of_theirs(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with capture_logs() as logs, serving() as (client, _):
        client.answer("/runs/v/open", OPEN)
        body = b'{"observations": [{"owner": "agent:ada", "text": "a secret rose'
        for _ in range(20):
            with connected(client, HEADERS + b"Content-Length: 9000\r\n\r\n" + body):
                pass
        while sum(one["event"] == "gateway.client_left" for one in logs) < 20:
            assert client.get("/health").status == 200
        assert client.tick("v", 1).status == 200
    told = [one for one in logs if one["event"] == "gateway.client_left"]
    assert [{**one} for one in told] == [
        {"event": "gateway.client_left", "path": "/runs/v/ticks/1", "log_level": "info"}
    ] * 20
    said = capfd.readouterr()
    assert "secret rose" not in repr(logs) + said.out + said.err
    assert "Traceback" not in said.out + said.err


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health",
        HEADERS,
        HEADERS + b"Content-Length: 9\r\n\r\n",
        HEADERS + b"Content-Length: 9\r\n\r\n{",
        HEADERS + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /",
    ],
)
def test_a_request_that_does_not_arrive_in_time_is_cut_off(sent: bytes) -> None:
    with serving(connection=Hasty) as (client, _), connected(client, sent) as connection:
        connection.sendall(b"")
        assert rest(connection).count(b"HTTP/1.1 ") == sent.startswith(b"GET /health HTTP")
        assert client.get("/health").status == 200


def test_a_host_that_waits_for_its_answer_is_not_cut_off() -> None:
    with serving(connection=Hasty, patience=0.5) as (client, _):
        client.answer("/runs/v/open", OPEN)
        client.answer("/runs/v/steer", {"mode": "paused"})
        client.tick("v", 1)
        found = client.tick("v", 2)
        assert (found.status, found.body["code"]) == (503, "not_yet")


def test_half_open_connections_make_room_the_oldest_first_and_a_hosts_own_stays() -> None:
    with serving(connection=Narrow) as (client, _), ExitStack() as stack:
        client.answer("/runs/v/open", OPEN)
        mine = stack.enter_context(closing(http.client.HTTPConnection(client.where.netloc, timeout=LONGEST)))
        mine.request("GET", "/runs/v")
        assert mine.getresponse().read()
        flood = [stack.enter_context(connected(client, b"GET /runs")) for _ in range(10)]
        for connection in flood[:8]:
            assert rest(connection) == b""
        assert client.tick("v", 1).status == 200
        mine.request("GET", "/runs/v")
        assert mine.getresponse().status == 200


def test_a_stranger_is_refused_before_its_body_and_not_listened_to() -> None:
    with serving(tokens={"game": TOKEN}) as (client, _):
        for length in (b"Content-Length: 7000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"):
            with connected(client, HEADERS + length) as connection:
                assert b" 401 " in rest(connection).splitlines()[0]


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x16\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET  HTTP/1.1\r\n\r\n",
        HEADERS + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n",
        HEADERS + b"Content-Length: -1\r\n\r\n",
        HEADERS + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        HEADERS + b"X: " + b"x" * 100_000,
        HEADERS + b"Transfer-Encoding: gzip\r\n\r\n",
        HEADERS + b"Content-Length: \xb2\r\n\r\n",
    ],
)
def test_requests_other_than_http_are_refused_without_a_trace(sent: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with serving() as (client, _):
        with connected(client, sent) as connection:
            status = int(rest(connection).split()[1])
        assert 400 <= status <= 501
        assert status != 500
        assert client.get("/health").status == 200
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("name", ["9" * 5_000, "9" * 30, "\xb2", "-1", "1.5", "x", "0x1"])
def test_an_invalid_event_id_is_refused(name: str) -> None:
    with serving() as (client, _):
        client.answer("/runs/v/open", OPEN)
        found = client.send("GET", "/runs/v/events", Last_Event_ID=name)
        assert (found.status, found.body["code"]) == (422, "malformed")


@pytest.mark.parametrize("encoding", ["gzip", "br", "x", "gzip, identity", "GZIP"])
def test_a_body_that_is_encoded_is_refused(encoding: str) -> None:
    with serving() as (client, _):
        client.answer("/runs/v/open", OPEN)
        headers = {"Content_Type": "application/json", "Content_Encoding": encoding}
        found = client.send("POST", "/runs/v/ticks/1", b"{}", **headers)
        assert (found.status, found.body["code"]) == (415, "encoded")
        headers["Content_Encoding"] = "Identity"
        assert client.send("POST", "/runs/v/ticks/1", b"{}", **headers).status == 200


def test_an_internal_error_is_reported_without_its_text(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["a secret", "rose"]

    def fails(*_: Any) -> None:
        secret = " ".join(words)
        raise RuntimeError(secret)

    with capture_logs() as logs, serving() as (client, table):
        monkeypatch.setattr(table, "status", fails)
        found = client.get("/runs/v/status")
    assert (found.status, found.body["code"]) == (500, "bug")
    (told,) = [one for one in logs if one["event"] == "gateway.failed"]
    assert (told["path"], told["error"]) == ("/runs/v/status", "RuntimeError")
    assert "test_gateway_connections.py" in told["exception"]
    said = capfd.readouterr()
    assert "a secret rose" not in repr(logs) + said.out + said.err

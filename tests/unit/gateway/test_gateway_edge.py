"""What the gateway refuses before a run hears of it: strangers, floods, and what is no message."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from fakeredis import FakeRedis
from pydantic import SecretStr

from cogitate import Profile
from cogitate.memory.errors import text_of
from cogitate.ops.gateway.edge import Tokens, read_tokens
from cogitate.ops.gateway.server import serve
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.summary import summarise_run
from tests.gateway_client import Client, Served, serving
from tests.unit.gateway.village_case import ADA, OPEN

GAME, TOWN = "a-token-of-the-game", "a-token-of-the-town"


@pytest.fixture
def served() -> Iterator[Served]:
    """A gateway without tokens at which the village is open."""
    with serving() as served:
        served.client.answer("/runs/v/open", OPEN)
        yield served


def raw(client: Client, body: bytes, path: str = "/runs/v/ticks/1") -> tuple[int, str]:
    """Post bytes as JSON; return status and code."""
    found = client.send("POST", path, body, Content_Type="application/json")
    assert set(found.body) <= {"code", "message", "do", "expected_tick"}, found.body
    assert found.body["message"].isascii()
    return found.status, found.body["code"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"1",
        b'"turn"',
        b"\xff\xfe",
        b'{"observations": [NaN]}',
        b"[" * 100_000,
        b'{"observations": [{"owner": "agent:ada", "text": "\\ud800"}]}',
        b'{"observations": [{"owner": "agent:ada", "text": "\xed\xa0\x80"}]}',
        b'{"observations": [{"owner": "agent:ada", "text": "x", "importance": Infinity}]}',
        b'{"observations": [{"owner": "agent:ada", "text": "x", "importance": 1e999}]}',
        b'{"observations": [{"owner": "agent:ada", "text": "x", "importance": 11}]}',
        b'{"observations": [{"owner": "agent:ada", "text": "x", "importance": true}]}',
        b'{"observations": [{"owner": "agent:ada", "text": "x", "minute": 1e300}]}',
        b'{"observations": [{"owner": "agent:ada"}]}',
        b'{"observations": {"owner": "agent:ada", "text": "x"}}',
        b'{"observation": []}',
        b'{"checkpoint": 7}',
        b'{"observations": [], "observations": []}',
        b'{"requests": [{"kind": "plan", "owner": "agent:ada", "params": {"a": 1, "\\u0061": 2}}]}',
        b'{"requests": [{"kind": "plan", "owner": "agent:ada", "params": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}]}",
    ],
)
def test_an_invalid_turn_is_refused_and_changes_nothing(served: Served, body: bytes) -> None:
    assert raw(served.client, body) == (422, "malformed")
    assert served.client.get("/runs/v").body["tick"] == 0


def test_a_body_of_ten_megabytes_is_refused_with_and_without_a_length(served: Served) -> None:
    client = served.client
    body = json.dumps({"checkpoint": "x" * 10_000_000}).encode()
    assert raw(client, body) == (413, "too_long")
    chunked = b"POST /runs/v/ticks/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection((client.where.hostname, client.where.port)) as connection:
        connection.sendall(chunked + b"Transfer-Encoding: chunked\r\n\r\n")
        answer = b""
        try:
            for _ in range(10):
                connection.sendall(b"f4240\r\n" + b" " * 1_000_000 + b"\r\n")
            answer = connection.recv(1_000)
        except ConnectionError:  # it was answered and closed before all of it was sent
            answer = connection.recv(1_000)
    assert b" 413 " in answer.splitlines()[0]
    assert client.tick("v", 1).status == 200


def test_a_body_not_marked_as_json_is_refused(served: Served) -> None:
    found = served.client.send("POST", "/runs/v/ticks/1", b"{}", Content_Type="text/plain")
    assert (found.status, found.body["code"]) == (415, "no_json")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("DELETE", "/runs/v", 405),
        ("GET", "/docs", 404),
        ("GET", "/redoc", 404),
        ("GET", "/runs/none", 404),
        ("GET", "/runs/%2e%2e", 404),
        ("GET", "/runs/a%00b", 422),
        ("GET", "/runs/v/events?after=x", 422),
        ("GET", "/runs/" + "v" * 65, 422),
    ],
)
def test_every_refusal_has_one_shape(served: Served, method: str, path: str, status: int) -> None:
    found = served.client.send(method, path)
    assert found.status == status, found
    assert all(isinstance(found.body[key], str) and found.body[key] for key in ("code", "message", "do"))


@pytest.mark.parametrize("tick", ["0", "-1", "1.5", "x", "9" * 30])
def test_an_invalid_tick_is_refused(served: Served, tick: str) -> None:
    assert raw(served.client, b"{}", f"/runs/v/ticks/{tick}") == (422, "malformed")


@pytest.mark.parametrize(
    "settings",
    [
        {"redis_url": "redis://elsewhere"},
        {"kinds": ["os"]},
        {"api_key": "x"},
        {"base_url": "http://x"},
        {"llm": "openai"},
        {"data_dir": "/"},
        {"prompts": "/"},
        {"limit_usd": 1000},
        {"nonsense": 1},
        {"seconds_per_tick": 0},
    ],
)
def test_a_host_sets_nothing_of_the_machine(settings: dict[str, Any]) -> None:
    with serving() as (client, _):
        found = client.post("/runs/v/open", {**OPEN, "settings": settings})
        assert (found.status, found.body["code"]) == (422, "setting_refused"), found
        assert next(iter(settings)) in found.body["message"]


def test_a_host_sets_nothing_of_the_machine_by_resuming_an_open_run() -> None:
    with serving() as (client, _):
        client.answer("/runs/v/open", OPEN)
        found = client.post("/runs/v/open", {**OPEN, "exist": "resume", "settings": {"base_url": "http://x"}})
        assert (found.status, found.body["code"]) == (422, "setting_refused"), found


def test_a_host_may_tighten_limits_and_not_loosen_them() -> None:
    with serving(settings=Settings(limits={"day.run.calls": 10, "run.run.calls": 30})) as (client, table):
        given = {"day.run.calls": 99, "run.run.calls": 3, "tick.run.calls": 2}
        client.answer("/runs/v/open", {**OPEN, "settings": {"limits": given, "seconds_per_tick": 600}})
        settings = table.get("host", "v").loop.settings
        assert settings.limits == {"day.run.calls": 10, "run.run.calls": 3, "tick.run.calls": 2}
        assert settings.seconds_per_tick == 600


# -- tokens --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer wrong-token-that-is-long", f"Basic {GAME}", f"Bearer {GAME[:-1]}", f"Bearer {GAME}x"],
)
def test_a_stranger_gets_nothing(header: str | None) -> None:
    with serving(tokens={"game": GAME}) as (client, _):
        headers = {} if header is None else {"Authorization": header}
        for method, path in [
            ("POST", "/runs/v/open"),
            ("GET", "/runs/v"),
            ("GET", "/nothing"),
            ("GET", "/runs/v/events"),
        ]:
            found = client.send(method, path, b"{" if method == "POST" else None, **headers)
            assert (found.status, found.body["code"]) == (401, "unknown_token")
            assert found.headers["www-authenticate"] == "Bearer"
        assert client.get("/health").body == {"status": "ok"}


def test_a_run_is_for_the_host_that_opened_it_also_after_a_restart() -> None:
    redis = FakeRedis()
    tokens = {"game": GAME, "town": TOWN}
    with serving(redis, tokens=tokens) as (client, _):
        game, town = Client(client.url, GAME), Client(client.url, TOWN)
        game.answer("/runs/v/open", OPEN)
        for exist in ("create", "resume", "replace"):
            found = town.post("/runs/v/open", {**OPEN, "exist": exist, "take_over": True})
            assert (found.status, found.body["code"]) == (403, "not_yours")
        assert town.tick("v", 1).body["code"] == "not_yours"
        assert town.get("/runs/v").body["code"] == "not_yours"
        assert town.post("/runs/v/memory", {"read": "recent", "owner": ADA}).body["code"] == "not_yours"
        assert town.post("/runs/v/steer", {"mode": "cancelled"}).body["code"] == "not_yours"
        assert town.post("/runs/v/close", {}).body["code"] == "not_yours"
        assert town.get("/runs/v/status").body["code"] == "not_yours"
        assert town.get("/runs/v/events").body["code"] == "not_yours"
        assert game.tick("v", 1).status == 200
    with serving(redis, tokens=tokens) as (client, _):
        game, town = Client(client.url, GAME), Client(client.url, TOWN)
        assert town.post("/runs/v/open", {**OPEN, "exist": "replace"}).body["code"] == "not_yours"
        assert game.answer("/runs/v/open", {**OPEN, "exist": "resume"})["tick"] == 1


@pytest.mark.parametrize("tokens", [None, {"game": GAME}], ids=["without tokens", "with tokens"])
def test_a_run_without_an_owner_is_taken_by_no_host(cogitate_loop: Any, tokens: dict[str, str] | None) -> None:
    """A host in Python began it: whoever may speak to the gateway neither goes on with it nor replaces it."""
    redis = FakeRedis()
    loop = cogitate_loop(run="v", owners={ADA: Profile(name="Ada")}, ticks=3, client=redis)
    for _ in loop:
        pass
    with serving(redis, tokens=tokens) as (client, _):
        host = Client(client.url, GAME if tokens else None)
        for exist in ("create", "resume", "replace"):
            found = host.post("/runs/v/open", {**OPEN, "exist": exist, "take_over": True})
            assert (found.status, found.body["code"]) == (403, "not_yours"), exist
    assert summarise_run(redis, "v").digest == loop.digest


def test_a_page_in_a_browser_cannot_host(served: Served) -> None:
    for headers in ({"Origin": "https://example.com"}, {"Host": "evil.example:8787"}, {"Host": "[::2]:80"}):
        found = served.client.send("GET", "/runs/v", **headers)
        assert (found.status, found.body["code"]) == (403, "from_elsewhere")
    assert served.client.send("GET", "/runs/v", Host="localhost:1").status == 200
    assert served.client.send("GET", "/runs/v", Host="[::1]:1").status == 200


def test_no_address_beyond_this_machine_without_tokens() -> None:
    for address in ("0.0.0.0", "::", "192.0.2.1", "example.com"):
        with pytest.raises(ConfigurationError, match="give each host a token"):
            serve(Settings(), Tokens({}), address=address, port=0, started=lambda url: pytest.fail(url))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no token"),
        ("game", "line 1"),
        ("game short", "at least 16"),
        (f"ga me {GAME}", "line 1"),
        (f"game {GAME}\ngame {TOWN}", "has a token already"),
        (f"../x {GAME}", "line 1"),
        (f"game {GAME}\xe9", "at least 16"),
    ],
)
def test_a_file_that_holds_no_tokens(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "hosts.txt"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=says) as refused:
        read_tokens(file, None)
    assert GAME not in text_of(refused.value)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_tokens(tmp_path / "none", None)
    with pytest.raises(ConfigurationError, match="not both"):
        read_tokens(file, SecretStr(GAME))


def test_tokens_are_read_from_a_file_or_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "hosts.txt"
    file.write_text(f"# hosts\n\ngame {GAME}\ntown\t{TOWN}\n")
    tokens = read_tokens(file, None)
    assert [tokens.host_of(token) for token in (GAME, TOWN, "", GAME + "x")] == ["game", "town", None, None]
    assert read_tokens(None, SecretStr(GAME)).host_of(GAME) == "host"
    assert not read_tokens(None, None)
    assert GAME not in repr(vars(tokens))


def test_no_log_holds_a_token_or_a_text() -> None:
    with structlog.testing.capture_logs() as logs, serving(tokens={"game": GAME}) as (client, _):
        game = Client(client.url, GAME)
        game.answer("/runs/v/open", OPEN)
        game.tick("v", 1, {"observations": [{"owner": ADA, "text": "a secret rose"}]})
        client.send("GET", "/runs/v", Authorization=f"Bearer {TOWN}")
    assert any(one["event"] == "host.opened" for one in logs)
    assert not any(secret in repr(logs) for secret in (GAME, TOWN, "secret rose"))

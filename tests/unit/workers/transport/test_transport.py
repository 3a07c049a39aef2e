"""Our parts of Celery's transport: guarded channels, batches of events, and Flower's page of a unix socket."""

from __future__ import annotations

import asyncio
import json
import sys
from queue import Empty
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from kombu import transport as kombu_transports
from kombu.transport import redis as kombu_redis
from kombu.transport import virtual
from kombu.utils.scheduling import round_robin_cycle
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from cogitate.workers.transport import redis_transport, room
from cogitate.workers.transport.broker_url import correct_flower
from cogitate.workers.transport.event_batches import INTERVAL, LIMIT, EventBatches
from cogitate.workers.transport.hints import ASKING, QUICK, MessageRefused, check_envelope
from cogitate.workers.transport.redis_transport import Channel, Transport
from tests.unit.workers.test_messages_under_attack import HINT

# -- channels ----------------------------------------------------------------------------------------


class Pooled(Channel):
    """A channel over no connection."""

    def __init__(self) -> None:
        self.connection = SimpleNamespace(client=object())
        self._pool = self.made = 0

    @property
    def pool(self) -> Any:
        return self._pool or self

    def __del__(self) -> None:
        """Close nothing."""


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What kombu's own channel and transport are asked."""
    asked: list[tuple[str, Any]] = []
    for name in ("_create_client", "_connparams", "_brpop_read"):

        def said(self: Any, asynchronous: bool = False, name: str = name, **more: Any) -> Any:
            asked.append((name, more or asynchronous))
            return object()

        monkeypatch.setattr(kombu_redis.Channel, name, said)
    monkeypatch.setattr(kombu_redis.Transport, "_deliver", lambda self, *given: asked.append(("_deliver", given)))
    return asked


def test_commands_share_a_client_until_the_pool_is_another(stock: list[tuple[str, Any]]) -> None:
    channel = Pooled()
    first = channel._create_client()
    assert channel._create_client() is first
    channel._pool = object()  # type: ignore[assignment]
    second = channel._create_client()
    assert second is not first
    assert channel._create_client() is second
    assert stock == [("_create_client", False)] * 2


def test_the_event_loop_gets_a_separate_client(stock: list[tuple[str, Any]]) -> None:
    channel = Pooled()
    shared = channel._create_client()
    assert len({channel._create_client(asynchronous=True), channel._create_client(asynchronous=True), shared}) == 3
    assert channel._create_client() is shared
    assert [how for _, how in stock] == [False, True, True]


def test_a_closed_transport_is_a_lost_connection(stock: list[tuple[str, Any]]) -> None:
    channel = Pooled()
    for asynchronous in (False, True):
        channel._connparams(asynchronous=asynchronous)
    assert stock == [("_connparams", False), ("_connparams", True)]
    for closed in (None, SimpleNamespace(client=None)):
        channel.connection = closed
        with pytest.raises(RedisConnectionError, match="was closed"):
            channel._connparams(asynchronous=False)


def test_a_closing_worker_drops_the_hints_that_it_has_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    restored: list[Any] = []
    monkeypatch.setattr(kombu_redis.Channel, "_restore", lambda self, message: restored.append(message))
    read = virtual.QoS(Pooled())
    read.append("a hint", "its tag")
    read.restore_unacked_once()
    assert restored == []


@pytest.mark.parametrize("error", [ValueError("what was said"), RecursionError("deep")])
def test_anything_but_json_is_dropped_and_named_without_its_text(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(self: Any, **options: Any) -> Any:
        assert options == {"timeout": 1}
        raise error

    monkeypatch.setattr(kombu_redis.Channel, "_brpop_read", fails)
    with capture_logs() as logs, pytest.raises(Empty):
        Pooled()._brpop_read(timeout=1)
    (told,) = logs
    assert (told["event"], told["why"]) == ("message.refused", f"not a message: {type(error).__name__}")


def test_a_message_is_passed_on_unchanged(stock: list[tuple[str, Any]]) -> None:
    assert Pooled()._brpop_read(timeout=1) is not None
    assert stock == [("_brpop_read", {"timeout": 1})]


class Sent:
    """A connection that notes what is sent."""

    def __init__(self) -> None:
        self.commands: list[tuple[Any, ...]] = []
        self.connection = self

    def send_command(self, *command: Any) -> None:
        self.commands.append(command)

    def _prefix_args(self, command: list[Any]) -> list[Any]:
        return [command[0], *(f"cogitate:{key}" for key in command[1:-1]), command[-1]]


class Blocking(Pooled):
    """A channel that blocks on two queues."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.client = Sent()
        self.global_keyprefix = prefix
        self.brpop_timeout = 1
        self._active_queues = ["plan", "reflect"]
        self.active_fanout_queues = set()
        self._queue_cycle = round_robin_cycle(["plan", "reflect"])


def test_both_lists_of_each_queue_are_first_by_turns() -> None:
    channel = Blocking("cogitate:")
    for _ in range(3):
        channel._brpop_start()
    quick, asking = ["cogitate:plan", "cogitate:reflect"], ["cogitate:plan\x06\x169", "cogitate:reflect\x06\x169"]
    first = ("BRPOP", quick[0], asking[0], quick[1], asking[1], 1)
    assert channel.client.commands == [first, ("BRPOP", asking[0], quick[0], asking[1], quick[1], 1), first]
    assert channel._in_poll is channel.client.connection
    assert channel._brpop_sent_at is not None


def test_jobs_with_a_model_are_left_to_others_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [0, 0, 1]
    monkeypatch.setattr(room, "_left", room._left)
    assert room.left(), "a process without places, as prefork's first, takes all"
    room.take_within(lambda: left.pop(0))
    channel = Blocking("")
    for _ in range(3):
        channel._brpop_start(timeout=7)
    without, again, all_lists = channel.client.commands
    assert without == again == ("BRPOP", "plan", "reflect", room.INTERVAL)
    assert len(all_lists) == 6
    assert all_lists[-1] == 7


def test_a_channel_without_queues_sends_no_blocking_read() -> None:
    channel = Blocking("")
    channel._queue_cycle.update([])
    channel._brpop_start()
    assert channel.client.commands == []


PIDBOX = {"headers": {}, "properties": {**HINT["properties"]}, "body": HINT["body"]}


@pytest.mark.parametrize(
    ("message", "queue", "delivered"),
    [
        (HINT, "plan", True),
        (HINT, "reflect", False),
        (None, "plan", False),
        (PIDBOX, "plan", False),
        (PIDBOX, "host.celery.pidbox", True),
        (None, "host.celery.pidbox", False),
        ({"headers": {}}, "x" * 200, False),
    ],
)
def test_only_hints_of_its_kind_and_messages_that_can_be_opened_are_delivered(
    stock: list[tuple[str, Any]], message: Any, queue: str, delivered: bool
) -> None:
    transport = Transport.__new__(Transport)
    with capture_logs() as logs:
        transport._deliver(message, queue)
    assert stock == ([("_deliver", (message, queue))] if delivered else [])
    assert [(log["event"], log["queue"]) for log in logs] == ([] if delivered else [("message.refused", queue[:80])])
    assert all(log["why"] and len(log["why"]) <= 200 for log in logs)


@pytest.mark.parametrize(("ticket", "priority"), [("~", QUICK), ("~9", ASKING)])
def test_a_ticket_delivers_the_hints_whose_turn_it_is(
    stock: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch, ticket: str, priority: int
) -> None:
    asked: list[tuple[Any, ...]] = []

    def hints(*of: Any) -> list[tuple[str, str]]:
        asked.append(of)
        return [("plan", json.dumps(HINT)), ("act", json.dumps(HINT)), ("plan", json.dumps(HINT))]

    monkeypatch.setattr(redis_transport, "next_hints", hints)
    transport = Transport.__new__(Transport)
    transport.reader = SimpleNamespace(
        _create_client=lambda: "client",
        qos=SimpleNamespace(can_consume_max_estimate=lambda: 7),
        active_queues={"reflect", "plan", "act", "host.reply.celery.pidbox"},
    )
    with capture_logs() as logs:
        transport._deliver(ticket, "plan")
        assert asked == [("client", ["plan", "act", "reflect"], priority, 1)], "of all kinds that the worker takes"
        assert stock == [("_deliver", (HINT, "plan"))] * 2
        assert len(logs) == 1, "what is no hint of its queue is refused as it would be there"
        transport._deliver(ticket, "host.celery.pidbox")
        transport._deliver("~1", "plan")
    assert (len(asked), len(stock), len(logs)) == (1, 2, 3), "elsewhere it is a message as any other"


@pytest.mark.parametrize(
    ("left", "slots", "most"),
    [
        (1, 99, 1),
        (7, 99, 1),
        (8, 99, 2),
        (31, 99, 7),
        (32, 99, 8),
        (99, 99, 8),
        (99, 15, 3),
        (0, 0, 1),
        (99, None, 8),
    ],
)
def test_a_process_with_much_room_takes_the_hints_of_a_fourth_of_it_at_once(
    monkeypatch: pytest.MonkeyPatch, left: int, slots: int | None, most: int
) -> None:
    asked: list[int] = []

    def hints(client: object, queues: list[str], priority: int, most: int) -> list[tuple[str, str]]:
        asked.append(most)
        return [("plan", json.dumps(HINT))]

    monkeypatch.setattr(redis_transport, "next_hints", hints)
    monkeypatch.setattr(redis_transport, "check_hint", lambda message, queue: "job")
    monkeypatch.setattr(room, "_left", lambda: left)
    monkeypatch.setattr(kombu_redis.Transport, "_deliver", lambda *_: None)
    transport = Transport.__new__(Transport)
    transport.reader = SimpleNamespace(
        _create_client=lambda: "client",
        qos=SimpleNamespace(can_consume_max_estimate=lambda: slots),
        active_queues={"plan"},
    )
    for ticket in ("~9", "~9", "~"):
        transport._deliver(ticket, "plan")
    assert asked == [most, most, 1]


@pytest.mark.parametrize("body", [None, 5, {}])
def test_a_message_without_a_text_has_no_body(body: Any) -> None:
    with pytest.raises(MessageRefused, match="not a message: it has no body"):
        check_envelope(PIDBOX | {"body": body})


def test_addresses_stay_as_they_are_and_lead_to_the_guarded_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme in ("redis", "rediss"):
        monkeypatch.setitem(kombu_transports.TRANSPORT_ALIASES, scheme, "kombu.transport.redis:Transport")
    kombu_transports._transport_cache["redis"] = kombu_redis.Transport
    for _ in range(2):
        redis_transport.register()
        assert kombu_transports.resolve_transport("redis") is Transport
        assert kombu_transports.resolve_transport("rediss") is Transport
        assert kombu_transports.get_transport_cls("redis") is Transport, "kombu keeps what it has found once"


# -- events ------------------------------------------------------------------------------------------


class Timer:
    """A timer that notes what it is to call."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.cancelled = 0

    def call_repeatedly(self, *what: Any) -> Any:
        self.calls.append(what)
        return self

    def cancel(self) -> None:
        self.cancelled += 1


def consumer(**changed: Any) -> Any:
    dispatcher = SimpleNamespace(on_send_buffered="each turn", buffer_limit=1)
    usual = {"hub": object(), "event_dispatcher": dispatcher, "timer": Timer(), "_flush_events": "flush", "steps": []}
    return SimpleNamespace(**(usual | changed))


def test_events_are_sent_by_a_timer_until_the_connection_is_lost() -> None:
    worker = consumer()
    step = EventBatches(worker)
    step.start(worker)
    assert (worker.event_dispatcher.on_send_buffered, worker.event_dispatcher.buffer_limit) == (None, LIMIT)
    assert worker.timer.calls == [(INTERVAL, "flush")]
    step.stop(worker)
    step.stop(worker)
    assert worker.timer.cancelled == 1
    step.start(worker)
    assert len(worker.timer.calls) == 2


@pytest.mark.parametrize("lacking", ["hub", "event_dispatcher"])
def test_without_an_event_loop_or_events_nothing_is_timed(lacking: str) -> None:
    worker = consumer(**{lacking: None})
    step = EventBatches(worker)
    step.start(worker)
    step.stop(worker)
    assert (worker.timer.calls, worker.timer.cancelled) == ([], 0)
    if lacking == "hub":
        assert worker.event_dispatcher.on_send_buffered == "each turn"


# -- Flower ------------------------------------------------------------------------------------------


class RedisSocket:
    """Flower's class, which connects to database 0 of a socket."""

    def __init__(self, broker_url: str, name: str = "") -> None:
        path = broker_url.partition("://")[2].partition("?")[0]
        self.given = broker_url, name
        self.redis = SimpleNamespace(connection_pool=SimpleNamespace(connection_kwargs={"path": path, "db": 0}))


@pytest.mark.parametrize(
    ("url", "path", "database"),
    [
        ("redis+socket:///run/a%20b.sock?virtual_host=3", "/run/a b.sock", 3),
        ("redis+socket:///run/r.sock", "/run/r.sock", 0),
    ],
)
def test_flowers_page_of_a_socket_shows_the_database_of_its_address(
    monkeypatch: pytest.MonkeyPatch, url: str, path: str, database: int
) -> None:
    broker = SimpleNamespace(RedisSocket=RedisSocket, RabbitMQ=RabbitMQ)
    monkeypatch.setitem(sys.modules, "flower.utils.broker", broker)  # type: ignore[arg-type]
    correct_flower()
    corrected = broker.RedisSocket
    correct_flower()
    assert broker.RedisSocket is corrected, "once"
    made = corrected(url, name="x")
    assert made.given == (url, "x")
    assert made.redis.connection_pool.connection_kwargs == {"path": path, "db": database}


class RabbitMQ:
    """Flower's page of RabbitMQ, which finds the queues that it is asked for."""

    host, port, username = "here", 15672, "me"

    def __init__(self, broker_url: str, http_api: str | None) -> None:
        self.vhost = urlsplit(broker_url).path[1:]

    async def queues(self, names: list[str]) -> list[str]:
        return names


@pytest.mark.parametrize(
    ("url", "given", "vhost", "api"),
    [
        ("amqp://me:x@here:5672//", None, "%2F", "http://here:15672/api/"),
        ("amqp://me:x@here:5672", None, "%2F", "http://here:15672/api/"),
        ("amqp://me:x@here/town", "https://there/api/", "town", "https://there/api/"),
    ],
)
def test_flowers_page_of_rabbitmq_shows_the_lanes_of_a_virtual_host(
    monkeypatch: pytest.MonkeyPatch, url: str, given: str | None, vhost: str, api: str
) -> None:
    broker: Any = SimpleNamespace(RedisSocket=RedisSocket, RabbitMQ=RabbitMQ)
    monkeypatch.setitem(sys.modules, "flower.utils.broker", broker)
    correct_flower()
    made = broker.RabbitMQ(url, given)
    assert (made.vhost, made.http_api) == (vhost, api)
    found = asyncio.run(made.queues(["plan", "other"]))
    assert found == [*(f"cogitate.plan.{lane}" for lane in ("quick", "quick-later", "now", "soon", "later")), "other"]


def test_without_flower_nothing_is_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "flower.utils.broker", raising=False)
    correct_flower()
    assert "flower.utils.broker" not in sys.modules

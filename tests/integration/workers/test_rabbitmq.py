"""RabbitMQ as broker, for real: one digest on it and on Redis, what hosts refuse, hints as kombu sends them, lanes."""

from __future__ import annotations

import json
import subprocess
import threading
import urllib.request
from binascii import b2a_base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import amqp
import pytest
from kombu.connection import Connection
from pydantic import SecretStr
from structlog.testing import capture_logs

from cogitate import Profile, Settings, TickLoop
from cogitate.errors import ConfigurationError
from cogitate.ops.doctor.command import examine_workers
from cogitate.scheduler.inspection.audit import audit
from cogitate.tasks.job import Cost, Job, JobKey
from cogitate.tasks.registry import kind_names
from cogitate.workers.celery_app import make_app
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment
from cogitate.workers.publish import Publisher
from cogitate.workers.transport import amqp_transport, room
from cogitate.workers.transport.amqp_connection import check_login, connect_amqp, count_waiting
from cogitate.workers.transport.amqp_transport import AHEAD
from cogitate.workers.transport.hints import check_hint
from cogitate.workers.transport.lanes import BURST, LANES, queue_of, queues_of
from tests.integration.command import typed
from tests.live_flower import flower
from tests.patience import LONGEST, wait_until
from tests.processes import running
from tests.rabbitmq import RabbitMQ

pytestmark = pytest.mark.system

OWNERS = {"agent:ada": Profile(name="Ada Smith"), "agent:ben": Profile(name="Ben Cole")}
LANE = {lane.name: lane for lane in LANES}
Eventually = Callable[..., None]


@pytest.fixture(scope="module")
def started() -> Iterator[RabbitMQ]:
    with RabbitMQ(tls=True) as rabbitmq:
        yield rabbitmq


@pytest.fixture
def rabbitmq(started: RabbitMQ) -> Iterator[RabbitMQ]:
    """Yield a broker without queues."""
    yield started
    for queue in started.ask("queues"):
        started.ask(f"queues/%2F/{queue['name']}", "DELETE")


@pytest.fixture
def settings(rabbitmq: RabbitMQ, valkey: EmbeddedServer, tmp_path: Path) -> Settings:
    urls = {"redis_url": SecretStr(valkey.url), "broker_url": SecretStr(rabbitmq.url)}
    return Settings(data_dir=tmp_path / "data", workers=0, socket_timeout=LONGEST, **urls)


def job(
    kind: str = "plan", owner: str = "agent:isabella", *, due: int = 425, model: str = "any", tick: int = 420
) -> Job:
    key = JobKey(tick, kind, owner, 0, 0)
    reserved = Cost(calls=1, tokens=1800)
    return Job(run="town", key=key, minute=tick, due=due, reads=(), model=model, reserved=reserved)


def publish(settings: Settings, jobs: list[Job]) -> None:
    publisher = Publisher(settings)
    assert publisher.publish(jobs) == len(jobs)
    publisher.close()


def await_confirms(publisher: Publisher) -> None:
    assert publisher.await_confirms(LONGEST)


def taken(rabbitmq: RabbitMQ, queue: str) -> list[amqp.Message]:
    """Take the messages of a queue, the oldest first."""
    with amqp.Connection(f"127.0.0.1:{rabbitmq.port}") as connection:
        channel = connection.channel()
        return list(iter(lambda: channel.basic_get(queue, no_ack=True), None))


def test_a_run_has_the_digest_that_it_has_with_redis_as_broker(
    rabbitmq: RabbitMQ, valkey: EmbeddedServer, tmp_path: Path
) -> None:
    found = {}
    for name, url in (("redis", None), ("rabbitmq", SecretStr(rabbitmq.url))):
        where = Settings(data_dir=tmp_path / name, redis_url=SecretStr(valkey.url), broker_url=url, workers=1)
        with TickLoop(run=name, owners=OWNERS, settings=where, ticks=420) as loop:
            changes = [change for tick in loop for change in tick.applied]
        assert [change.kind for change in changes if change.kind == "plan"] == ["plan"] * 2
        with valkey.client() as state:
            assert audit(state, name) == []
        found[name] = loop.digest
    assert found["redis"] == found["rabbitmq"]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("amqp://guest:hidden@127.0.0.1:1//", r"no RabbitMQ answers at amqp://guest:\*\*\*@127.0.0.1:1//: .*refused"),
        ("amqp://guest:hidden@127.0.0.1:{port}//", r"RabbitMQ at .*\*\*\*.* refuses the login: correct user and pass"),
        ("amqp://guest:guest@127.0.0.1:{port}/nowhere", r"RabbitMQ at .*nowhere has no such virtual host"),
    ],
)
def test_a_host_does_not_start_without_its_broker(settings: Settings, rabbitmq: RabbitMQ, url: str, why: str) -> None:
    wrong = settings.model_copy(update={"broker_url": SecretStr(url.format(port=rabbitmq.port))})
    with pytest.raises(ConfigurationError, match=why) as refused:
        TickLoop(run="town", owners=OWNERS, settings=wrong, ticks=1)
    assert "hidden" not in str(refused.value)


def test_a_worker_whose_login_is_refused_reports_it_and_ends(settings: Settings, rabbitmq: RabbitMQ) -> None:
    wrong = rabbitmq.url.replace("guest:guest", "guest:hidden")
    where = {"COGITATE_REDIS_URL": settings.state_url(), "COGITATE_BROKER_URL": wrong}
    done = typed("worker", data_dir=settings.data_dir, **where)
    assert done.returncode != 0
    assert "refuses the login" in done.stderr
    assert "hidden" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    check_login("amqp://guest:hidden@127.0.0.1:1//", LONGEST)  # away: the worker waits


def test_it_is_reached_by_tls_and_its_certificate_is_checked(settings: Settings, rabbitmq: RabbitMQ) -> None:
    secured = f"{rabbitmq.tls_url}?ssl_ca_certs={rabbitmq.authority}"
    publish(settings.model_copy(update={"broker_url": SecretStr(secured)}), [job()])
    app = make_app(secured)
    assert app.control.inspect(timeout=0.1).ping() is None, "the app of workers and Flower reaches it too"
    app.close()
    assert count_waiting(f"{rabbitmq.tls_url}?ssl_cert_reqs=none", LONGEST, ["plan"]) == {"plan": 1}
    with pytest.raises(ConfigurationError, match=r"is not trusted: .*\?ssl_ca_certs="):
        count_waiting(rabbitmq.tls_url, LONGEST, ["plan"])
    elsewhere = secured.replace("127.0.0.1", "localhost")
    with pytest.raises(ConfigurationError, match=r"is not trusted: .*localhost"):
        count_waiting(elsewhere, LONGEST, ["plan"])


def test_a_queue_of_another_type_is_named(settings: Settings, rabbitmq: RabbitMQ) -> None:
    rabbitmq.ask("queues/%2F/cogitate.plan.now", "PUT", {"durable": True})
    with pytest.raises(ConfigurationError, match=r"has another queue of this name: .*cogitate.plan.now"):
        TickLoop(run="town", owners=OWNERS, settings=settings, ticks=1)


@pytest.mark.parametrize(
    "url",
    ["amqp://", "amqp:///vhost", "amqp://here?heartbeat=1", "amqps://here?timeout=1", "amqp://here?ssl_keyfile=k"],
)
def test_a_url_without_a_host_or_with_other_parameters_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"names no host|cannot have the parameter"):
        Settings(broker_url=url)


def test_doctor_checks_it(settings: Settings, rabbitmq: RabbitMQ) -> None:
    def examine(url: str) -> dict[str, tuple[str, str]]:
        where = {"COGITATE_REDIS_URL": settings.state_url(), "COGITATE_BROKER_URL": url}
        done = typed("doctor", "--json", data_dir=settings.data_dir, **where)
        return {one["what"]: (one["grade"], one["found"]) for one in json.loads(done.stdout)}

    publish(settings, [job(), job("reflect")])
    found = examine(rabbitmq.url)
    assert found["broker version"] == ("ok", f"RabbitMQ {rabbitmq.ask('overview')['rabbitmq_version']}")
    assert found["broker hints"] == ("ok", "2 wait for a worker")
    assert found["broker latency"][1].endswith("ms a round trip")
    assert found["workers"] == ("ok", "none runs; `cogitate run` starts its own")
    for queue in rabbitmq.ask("queues"):
        rabbitmq.ask(f"queues/%2F/{queue['name']}", "DELETE")
    assert examine(rabbitmq.url)["broker hints"] == ("ok", "0 wait for a worker")
    assert [one for one in rabbitmq.ask("queues") if one["name"].startswith("cogitate.")] == [], "it changes nothing"
    grade, why = examine("amqp://guest:hidden@127.0.0.1:1//")["broker"]
    assert grade == "failed"
    assert "no RabbitMQ answers at amqp://guest:***@" in why


@pytest.mark.parametrize("owner", ["agent:isabella", 'group:"50 % off" é日本', f"location:{'x' * 300}"])
def test_a_hint_is_what_a_worker_reads(settings: Settings, rabbitmq: RabbitMQ, owner: str) -> None:
    for kind in kind_names():
        hinted = job(kind, owner)
        publish(settings, [hinted])
        (message,) = taken(rabbitmq, queue_of(kind, LANE["now"]))
        assert check_hint(amqp_transport._envelope(message), kind) == hinted.id
        assert message.properties["delivery_mode"] == 2
        assert message.properties["application_headers"]["argsrepr"].endswith("≤ 1 call · ≤ 1800 tokens")


def test_queues_are_of_the_type_quorum_and_forget_what_no_worker_takes(settings: Settings, rabbitmq: RabbitMQ) -> None:
    publish(settings, [job()])
    declared = {one["name"]: one for one in rabbitmq.ask("queues")}
    assert declared.keys() == {name for kind in kind_names() for name in queues_of(kind)}
    for queue in declared.values():
        assert queue["arguments"] == {"x-queue-type": "quorum", "x-message-ttl": 86_400_000}
        assert queue["durable"]


def test_a_hint_takes_the_lane_of_its_due_tick(settings: Settings, rabbitmq: RabbitMQ) -> None:
    jobs = [
        job(owner=f"agent:{left}-{model}", due=420 + left, model=model)
        for left in (64, 1, 8, 9, 65, 1000)
        for model in ("any", "")
    ]
    publish(settings, jobs)
    found = {
        lane.name: [message.properties["application_headers"]["id"] for message in taken(rabbitmq, name)]
        for name, lane in queues_of("plan").items()
    }
    owners = {name: [one.split("/")[3].removeprefix("agent:") for one in ids] for name, ids in found.items()}
    assert owners["now"] == ["1-any", "8-any"]
    assert owners["soon"] == ["9-any", "64-any"]
    assert owners["later"] == ["65-any", "1000-any"]
    assert owners["quick"] == ["1-", "8-", "9-", "64-", "65-", "1000-"]
    assert owners["quick-later"] == []


def test_a_repeated_hint_takes_the_lane_that_then_fits(settings: Settings, rabbitmq: RabbitMQ) -> None:
    publisher = Publisher(settings)
    waiting = job(due=520)
    for published in ([waiting], [job("reflect", tick=515, due=1000)], [waiting]):
        publisher.publish(published)
        await_confirms(publisher)
    publisher.close()
    assert len(taken(rabbitmq, queue_of("plan", LANE["later"]))) == 1
    assert len(taken(rabbitmq, queue_of("plan", LANE["now"]))) == 1


@pytest.mark.parametrize("share", [1, 3])
def test_a_burst_leaves_the_lane_to_other_runs_but_for_those_due_first(
    settings: Settings, rabbitmq: RabbitMQ, share: int
) -> None:
    jobs = [job(owner=f"agent:{number}", due=428 - number // 100) for number in range(300)]
    publish(settings.changed(worker_share=share), jobs)
    first = taken(rabbitmq, queue_of("plan", LANE["now"]))
    assert len(first) == BURST * share
    assert first[0].properties["application_headers"]["id"] == jobs[200].id
    assert len(taken(rabbitmq, queue_of("plan", LANE["later"]))) == 300 - BURST * share


def test_a_broker_that_is_away_is_logged_once_and_gets_its_hints_later(settings: Settings) -> None:
    with RabbitMQ() as broker:
        publisher = publisher_to(broker, settings)
        with capture_logs() as logs:
            broker.kill()
            publisher.publish([job("act", due=424), job()])
            wait_until(lambda: len(hints_of(logs)) >= 2, "two attempts to fail")
            publisher.publish([job("prune", tick=425, due=430)])  # so the tick at which the act was due is over
            broker.start()
            await_confirms(publisher)
        publisher.close()
        levels = [level for event, level in hints_of(logs) if event == "failed"]
        assert levels[:2] == ["warning", "debug"]
        assert hints_of(logs)[-1] == ("restored", "info")
        found = {kind: hinted(broker, kind) for kind in ("plan", "prune", "act")}
        kept = "earlier"
        assert found == {"plan": {kept, "isabella"}, "prune": {kept, "isabella"}, "act": {kept}}


def publisher_to(broker: RabbitMQ, settings: Settings) -> Publisher:
    """Return a publisher to a separate broker, which has confirmed a hint in each queue that these tests use.

    RabbitMQ that is killed soon after it made a queue may have no leader of that queue when it starts again, and then
    confirms nothing that goes there.
    """
    # It tries again soon, since a broker that has just started may confirm nothing for a moment.
    own = {"broker_url": SecretStr(broker.url), "socket_timeout": 2.0}
    publisher = Publisher(settings.model_copy(update=own))
    publisher.publish([job(kind, "agent:earlier") for kind in ("plan", "prune", "act")])
    await_confirms(publisher)
    return publisher


def hints_of(logs: list[Any]) -> list[tuple[str, str]]:
    """Return what was logged of hints, and how loudly."""
    found = [(entry["event"], entry["log_level"]) for entry in logs if entry["event"].startswith("hint.")]
    return [(event.removeprefix("hint."), level) for event, level in found]


def hinted(broker: RabbitMQ, kind: str, *lanes: str) -> set[str]:
    """Take the hints of a kind from these lanes, and return the owners of their jobs; some may be there twice."""
    found = [one for lane in lanes or ["now"] for one in taken(broker, queue_of(kind, LANE[lane]))]
    ids = [message.properties["application_headers"]["id"] for message in found]
    return {one.split("/")[3].removeprefix("agent:") for one in ids}


def test_a_broker_that_dies_before_it_confirms_gets_the_hints_again(settings: Settings) -> None:
    with RabbitMQ() as broker:
        publisher = publisher_to(broker, settings)
        with capture_logs() as logs:
            broker.freeze()
            publisher.publish([job(owner=f"agent:{number}") for number in range(3)])
            assert not publisher.await_confirms(0.1)
            broker.kill()
            wait_until(lambda: hints_of(logs), "the connection to break")
            broker.start()
            await_confirms(publisher)
        publisher.close()
        assert hinted(broker, "plan") == {"earlier", "0", "1", "2"}


def test_a_broker_without_memory_confirms_once_it_has_some(settings: Settings) -> None:
    with RabbitMQ() as broker:
        publisher = publisher_to(broker, settings)
        broker.limit_memory("0.000001")
        wait_until(lambda: broker.ask("nodes")[0].get("mem_alarm"), "the alarm")
        with capture_logs() as logs:
            jobs = [job(owner=f"agent:{number}") for number in range(1_000)]
            for start in range(0, len(jobs), 100):
                publisher.publish(jobs[start : start + 100])
            wait_until(lambda: len(hints_of(logs)) == 2, "it to confirm nothing for two timeouts")
            errors = {entry["error"] for entry in logs if entry["event"] == "hint.failed"}
            assert errors == {"Blocked"}, "the connection is kept: hints on a new one would come twice"
            broker.limit_memory("0.9")
            await_confirms(publisher)
        assert ("restored", "info") in hints_of(logs)
        publisher.close()
        assert hinted(broker, "plan", "now", "later") == {"earlier", *(str(number) for number in range(1_000))}


def test_a_publisher_closes_without_a_broker_that_is_away(settings: Settings) -> None:
    away = settings.model_copy(update={"broker_url": SecretStr("amqp://guest:guest@127.0.0.1:1//")})
    publisher = Publisher(away)
    with capture_logs() as logs:
        publisher.publish([job()])
        wait_until(lambda: hints_of(logs), "the broker to be missed")
        publisher.close()  # would wait for as long as a test may take
    wait_until(lambda: "hints" not in {thread.name for thread in threading.enumerate()}, "its thread to end")


def test_a_hint_whose_queue_is_gone_is_sent_again_to_a_new_queue(settings: Settings, rabbitmq: RabbitMQ) -> None:
    publisher = Publisher(settings)
    publisher.publish([job()])
    await_confirms(publisher)
    rabbitmq.ask("queues/%2F/cogitate.plan.now", "DELETE")
    with capture_logs() as logs:
        publisher.publish([job(), job("reflect")])
        await_confirms(publisher)
    assert [entry["error"] for entry in logs if entry["event"] == "hint.failed"] == ["MessageNacked"]
    publisher.close()
    assert count_waiting(rabbitmq.url, LONGEST, ["plan", "reflect"]) == {"plan": 1, "reflect": 1}


class Consumer:
    """Consumes plans and reflections as a worker does, and begins what it gets when it is told to."""

    def __init__(self, url: str, slots: int) -> None:
        amqp_transport.register()
        self.connection = Connection(url)
        self.channel: Any = self.connection.channel()
        self.got: list[Any] = []
        self.channel.basic_qos(0, slots, False)
        for kind in ("plan", "reflect"):
            self.channel.queue_declare(kind)
            self.channel.basic_consume(kind, f"tag-{kind}", callback=lambda raw: self.got.append(self._opened(raw)))

    def _opened(self, raw: Any) -> Any:
        return self.channel.message_to_python(raw)

    def wait(self, count: int) -> list[str]:
        """Wait for so many hints, and return the owners of all so far."""

        def arrived() -> bool:
            self.drain()
            return len(self.got) >= count

        wait_until(arrived, f"{count} hints")
        return self.owners()

    def owners(self) -> list[str]:
        return [message.headers["id"].split("/")[3].removeprefix("agent:") for message in self.got]

    def drain(self) -> None:
        """Take in what has arrived."""
        try:
            while True:
                self.connection.drain_events(timeout=0.05)
        except TimeoutError:
            pass


@pytest.fixture
def consumer(rabbitmq: RabbitMQ) -> Iterator[Callable[[int], Consumer]]:
    made: list[Consumer] = []

    def make(slots: int) -> Consumer:
        made.append(Consumer(rabbitmq.url, slots))
        return made[-1]

    yield make
    for one in made:
        one.connection.release()


def test_a_worker_gets_as_many_as_it_has_slots_those_due_first_before_the_others(
    settings: Settings, consumer: Callable[[int], Consumer]
) -> None:
    publish(settings, [job(owner=f"agent:{left}", due=420 + left) for left in (1000, 30, 2, 3, 31)])
    worker = consumer(1)
    assert worker.wait(1) == ["2"]
    worker.drain()
    assert worker.owners() == ["2"], "one slot, one hint"
    for number in range(1, 5):
        worker.got[-1].ack()
        worker.wait(number + 1)
    assert worker.owners() == ["2", "3", "30", "31", "1000"]


def test_jobs_that_ask_a_model_wait_for_room_and_the_others_do_not(
    settings: Settings, consumer: Callable[[int], Consumer], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [0]
    monkeypatch.setattr(room, "_left", lambda: left[0])
    publish(settings, [job(owner="agent:asks"), job(owner="agent:quick", model="")])
    worker = consumer(9)
    assert worker.wait(1) == ["quick"]
    worker.drain()
    assert worker.owners() == ["quick"]
    left[0] = 1
    assert worker.wait(2) == ["quick", "asks"]


def test_hints_that_wait_for_room_are_passed_on_though_the_timer_that_looks_for_it_is_lost(
    settings: Settings, consumer: Callable[[int], Consumer], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [0]
    monkeypatch.setattr(room, "_left", lambda: left[0])
    publish(settings, [job()])
    worker = consumer(9)

    def held() -> bool:
        worker.drain()
        return any(worker.channel._held.values())

    wait_until(held, "the hint to be held")
    worker.channel._looks_again = True  # as it stays where the event loop forgets its timers
    left[0] = 1
    worker.connection.connection.heartbeat_tick()
    assert worker.owners() == ["isabella"]


def test_hints_in_hand_are_handed_to_others_when_a_worker_is_gone(
    settings: Settings, consumer: Callable[[int], Consumer]
) -> None:
    publish(settings, [job(owner=f"agent:{number}") for number in range(AHEAD)])
    first = consumer(1)
    first.wait(1)
    first.connection.release()
    assert sorted(consumer(9).wait(AHEAD)) == sorted(str(number) for number in range(AHEAD))


def test_a_canceled_consumer_gets_nothing_further(
    settings: Settings, rabbitmq: RabbitMQ, consumer: Callable[[int], Consumer]
) -> None:
    worker = consumer(9)
    worker.channel.basic_cancel("tag-plan")
    publish(settings, [job(), job("reflect")])
    worker.wait(1)
    worker.drain()
    assert [one.headers["task"] for one in worker.got] == ["reflect"]
    assert count_waiting(rabbitmq.url, LONGEST, ["plan"]) == {"plan": 1}
    assert worker.channel.queue_purge("plan") == 1
    assert count_waiting(rabbitmq.url, LONGEST, ["plan"]) == {"plan": 0}


def test_what_is_no_hint_is_dropped_and_logged(settings: Settings, consumer: Callable[[int], Consumer]) -> None:
    worker = consumer(9)
    connection = connect_amqp(settings.messages_url(), LONGEST)
    channel = connection.channel()
    valid: dict[str, Any] = {"content_type": "application/json", "content_encoding": "utf-8"}
    strange = [
        amqp.Message(b"\xff\x00 garbage"),
        amqp.Message("[]", **valid),
        amqp.Message("[]", application_headers={"task": "plan"}, **valid),
        amqp.Message(b2a_base64(b"pickle"), content_type="application/x-python-serialize", content_encoding="binary"),
    ]
    with capture_logs() as logs:
        for message in strange:
            channel.basic_publish(message, routing_key=queue_of("plan", LANE["now"]))
        publish(settings, [job()])
        assert worker.wait(1) == ["isabella"]
    refused = [log for log in logs if log["event"] == "message.refused"]
    assert [log["queue"] for log in refused] == ["plan"] * len(strange)
    connection.collect()
    worker.got[0].ack()
    assert count_waiting(settings.messages_url(), LONGEST, ["plan"]) == {"plan": 0}


@pytest.fixture
def worker(settings: Settings, rabbitmq: RabbitMQ, eventually: Eventually) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a real worker, as hosts start them."""
    settings.data_dir.mkdir()
    log = settings.data_dir / "worker.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            worker_command("tested@%h"), env=worker_environment(settings), cwd=settings.data_dir, stdout=out, stderr=out
        )
    with running(process):
        eventually(lambda: consumers(rabbitmq) or process.poll() is not None, "the worker to consume")
        assert process.poll() is None, log.read_text()
        yield process


def consumers(rabbitmq: RabbitMQ) -> int:
    """Return how many workers consume plans."""
    return len([one for one in rabbitmq.ask("consumers") if one["queue"]["name"] == "cogitate.plan.now"])


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=LONGEST) as answer:
        text: str = answer.read().decode()
        return text


def test_flower_shows_its_queues_its_workers_and_their_tasks(
    worker: subprocess.Popen[bytes], settings: Settings, rabbitmq: RabbitMQ, eventually: Eventually
) -> None:
    where = {
        "COGITATE_REDIS_URL": settings.state_url(),
        "COGITATE_BROKER_URL": rabbitmq.url,
        "FLOWER_UNAUTHENTICATED_API": "true",
    }
    with flower(settings.data_dir, f"--broker-api={rabbitmq.management}", **where) as address:
        eventually(lambda: "tested@" in get(f"{address}/api/workers?refresh=1"), "Flower to know the worker")
        one = job("reflect", model="")
        publish(settings, [one])
        eventually(lambda: one.id in json.loads(get(f"{address}/api/tasks")), "Flower to show the task")
        page = get(f"{address}/broker")
        assert "guest:guest" not in page
        for kind in kind_names():
            for name in queues_of(kind):
                assert name in page
        assert "cogitate.plan.soon" in page


def test_a_worker_consumes_again_after_its_queues_are_deleted(
    worker: subprocess.Popen[bytes], rabbitmq: RabbitMQ, eventually: Eventually
) -> None:
    rabbitmq.ask("queues/%2F/cogitate.plan.now", "DELETE")
    eventually(lambda: consumers(rabbitmq), "the worker to consume again")
    assert worker.poll() is None


def test_doctor_names_the_workers(worker: subprocess.Popen[bytes], settings: Settings, eventually: Eventually) -> None:
    def found() -> dict[str, str]:
        with make_app(settings.messages_url()) as app:
            return {one.what: one.found for one in examine_workers(app, kind_names(), expected=True)}

    eventually(lambda: found()["workers"].startswith("1 answer: tested@"), "the worker to answer in time")
    eventually(lambda: found().get("queues") == f"each of {len(kind_names())} has a worker", "its queues to be named")

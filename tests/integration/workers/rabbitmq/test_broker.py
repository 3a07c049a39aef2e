"""RabbitMQ as the broker of whole runs, and its faults that hosts and workers refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from cogitate import Profile, Settings, TickLoop
from cogitate.errors import ConfigurationError
from cogitate.scheduler.inspection.audit import audit
from cogitate.workers.celery_app import make_app
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.transport.amqp_connection import check_login, count_waiting
from tests.integration.command import typed
from tests.integration.workers.rabbitmq.rabbitmq_case import job, publish
from tests.patience import LONGEST
from tests.rabbitmq import RabbitMQ

pytestmark = pytest.mark.system

OWNERS = {"agent:ada": Profile(name="Ada Smith"), "agent:ben": Profile(name="Ben Cole")}


def test_a_run_has_the_same_digest_with_rabbitmq_and_redis_as_broker(
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


def test_a_worker_with_a_refused_login_reports_it_and_exits(settings: Settings, rabbitmq: RabbitMQ) -> None:
    wrong = rabbitmq.url.replace("guest:guest", "guest:hidden")
    where = {"COGITATE_REDIS_URL": settings.state_url(), "COGITATE_BROKER_URL": wrong}
    done = typed("worker", data_dir=settings.data_dir, **where)
    assert done.returncode != 0
    assert "refuses the login" in done.stderr
    assert "hidden" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    check_login("amqp://guest:hidden@127.0.0.1:1//", LONGEST)  # an unreachable broker is no error: the worker waits


def test_rabbitmq_is_reached_by_tls_and_its_certificate_is_checked(settings: Settings, rabbitmq: RabbitMQ) -> None:
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


def test_a_queue_of_another_type_is_reported(settings: Settings, rabbitmq: RabbitMQ) -> None:
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


def test_the_doctor_examines_rabbitmq(settings: Settings, rabbitmq: RabbitMQ) -> None:
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

"""The broker and worker settings that the design depends on."""

from __future__ import annotations

import importlib
import inspect
import ssl
from collections.abc import Iterator
from types import ModuleType

import amqp
import pytest
from celery.app.defaults import NAMESPACES, flatten
from kombu.connection import Connection
from kombu.transport.redis import Channel

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.tasks.registry import kinds
from cogitate.workers.celery_app import make_app
from cogitate.workers.transport.broker_url import kombu_url, tls

KINDS = [kind.name for kind in kinds()]


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """`celeryconfig` read anew with a Redis URL and a deadline in the environment."""
    monkeypatch.setenv("COGITATE_REDIS_URL", "redis://localhost:6399/2")
    monkeypatch.setenv("COGITATE_JOB_DEADLINE", "90")
    monkeypatch.setenv("COGITATE_CONCURRENCY", "5")
    module = importlib.import_module("cogitate.celeryconfig")
    yield importlib.reload(module)
    monkeypatch.undo()
    importlib.reload(module)


def test_every_name_is_a_setting_that_celery_knows(config: ModuleType) -> None:
    known = {name for name, _ in flatten(NAMESPACES)}
    ours = {name for name in vars(config) if name.islower() and not name.startswith(("_", "@"))}  # "@…": pytest's
    imported = {"adopt_import_paths", "annotations", "is_amqp_url", "kinds", "kombu_url", "load_kinds", "tls"}
    assert ours - imported - known == set()


def test_transport_options_are_ones_that_kombu_reads(config: ModuleType) -> None:
    read = {*Channel.from_transport_options, *inspect.signature(amqp.Connection).parameters}
    assert config.broker_transport_options.keys() <= read


def test_messages_use_the_database_beside_the_state(config: ModuleType) -> None:
    assert config.broker_url == "redis://localhost:6399/3"


def test_only_json_travels(config: ModuleType) -> None:
    assert config.accept_content == config.result_accept_content == ["json"]
    assert config.task_serializer == config.event_serializer == "json"


def test_results_have_no_second_home(config: ModuleType) -> None:
    assert config.task_ignore_result is True
    assert config.result_backend is None


def test_each_kind_has_a_queue_and_celery_creates_no_others(config: ModuleType) -> None:
    assert [queue.name for queue in config.task_queues] == KINDS
    assert config.task_routes == {kind: {"queue": kind} for kind in KINDS}
    assert config.task_create_missing_queues is False
    assert config.task_default_queue in KINDS


def test_a_misspelt_queue_is_an_error() -> None:
    app = make_app("redis://localhost:1/0")
    assert sorted(app.tasks.keys() & set(KINDS)) == sorted(KINDS)
    with Connection("memory://") as connection, pytest.raises(Exception, match="reflct"):
        app.tasks["reflect"].apply_async(("x",), queue="reflct", connection=connection)


def test_no_message_comes_back_while_its_job_may_run(config: ModuleType) -> None:
    assert config.broker_transport_options["ack_emulation"] is False


def test_workers_outlast_their_broker(config: ModuleType) -> None:
    assert config.broker_connection_retry_on_startup is True
    assert config.broker_connection_max_retries is None
    assert config.broker_transport_options["socket_timeout"] > 1  # kombu's own blocking pop takes a second
    assert config.task_publish_retry_policy["max_retries"] == 1


@pytest.mark.parametrize(("broker", "lasts"), [("redis://localhost/1", False), ("amqp://localhost//", True)])
def test_a_worker_that_comes_back_finds_its_queue_of_commands(
    config: ModuleType, monkeypatch: pytest.MonkeyPatch, broker: str, lasts: bool
) -> None:
    monkeypatch.setenv("COGITATE_BROKER_URL", broker)
    module = importlib.reload(config)
    assert (module.control_queue_durable, module.control_queue_exclusive) == (lasts, not lasts)


def test_the_pool_is_threads_by_our_settings(config: ModuleType) -> None:
    assert (config.worker_pool, config.worker_concurrency, config.worker_prefetch_multiplier) == ("threads", 6, 1)
    assert config.worker_hijack_root_logger is False
    assert config.worker_send_task_events is True
    assert config.enable_utc is True


def test_an_app_for_a_given_broker_needs_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COGITATE_REDIS_URL", raising=False)
    assert make_app("unix:///run/v.sock?db=4").conf.broker_url == "redis+socket:///run/v.sock?virtual_host=4"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://user:pw@host:1234/5", "redis://user:pw@host:1234/5"),
        ("unix:///run/v.sock?db=1", "redis+socket:///run/v.sock?virtual_host=1"),
        ("unix://user:p%40w@/run/v.sock?db=1", "redis+socket://user:p%40w@/run/v.sock?virtual_host=1"),
        ("unix:///run/v.sock", "redis+socket:///run/v.sock"),
        ("rediss://u:p%40w@host/1?ssl_ca_certs=/ca.pem&ssl_cert_reqs=none", "rediss://u:p%40w@host/1"),
    ],
)
def test_urls_for_kombu(url: str, expected: str) -> None:
    assert kombu_url(url) == expected


def test_tls_checks_certificates_unless_disabled() -> None:
    assert tls("redis://host/1") is None
    assert tls("rediss://host/1") == {"ssl_cert_reqs": ssl.CERT_REQUIRED}
    assert tls("rediss://host/1?ssl_cert_reqs=none") == {"ssl_cert_reqs": ssl.CERT_NONE}
    with pytest.raises(ConfigurationError, match="'perhaps'"):
        tls("rediss://host/1?ssl_cert_reqs=perhaps")


def test_tls_options_of_a_url_are_passed_on() -> None:
    found = tls("rediss://host/1?ssl_ca_certs=/run/ca%20one.pem&ssl_check_hostname=False&ssl_keyfile=/k")
    assert found == {
        "ssl_cert_reqs": ssl.CERT_REQUIRED,
        "ssl_ca_certs": "/run/ca one.pem",
        "ssl_check_hostname": False,
        "ssl_keyfile": "/k",
    }
    with pytest.raises(ConfigurationError, match="'ssl_ca_cert'"):
        tls("rediss://host/1?ssl_ca_cert=/run/ca.pem")

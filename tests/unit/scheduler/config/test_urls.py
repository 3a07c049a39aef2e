"""What is shown of a URL, and what of it is secret, in every place of a URL where a password or a key may stand."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from cogitate.ops.commands.config import mask_secrets
from cogitate.scheduler.config.settings import ConfigurationError, PinnedSettings, Settings
from cogitate.scheduler.config.urls import redact_url, secrets_of
from cogitate.scheduler.ledger.connect import connect
from cogitate.workers.llm.requests.address import address_of
from cogitate.workers.processes.logs import redact_secrets

WITH_SECRET = (
    "redis://me:hush@h:1/0",
    "redis://:hush@h/4?db=1",
    "redis://me:hu%73h@h",
    "redis://h/0?password=hush",
    "redis://h/0?db=1&password=hush",
    "redis://h/0?pass%77ord=hush",
    "redis://h/0?Password=hush",
    "redis://h?hush",
    "rediss://h/0?ssl_password=hush",
    "rediss://h/0?ssl_cert_reqs=none;password=hush",
    "redis://h/0#hush",
    "redis://:hu#hush@h/0",
    "redis://:a/hush@h/0",
    "redis://:a?hush@h/0",
    "redis://:hush@hush@h/0",
    "redis://h/0?password=a@hush",
    "redis://me%3Ahush%40h/0",
    "redis://[hush@h/0",
    "unix:///tmp/s?password=hush",
    "unix://me:hush@/tmp/s?db=0",
    "redis+socket://:hush@/tmp/s",
    "amqp://me:hush@h//",
    "sqs://key:hush@",
    "sentinel://:a@h:1;sentinel://:hush@h:2",
    "http://hush@h/v1",
    "https://me:hush@h/v1",
    "https://h/v1?key=hush",
    "https://h/v1?token=hush",
    "https://h/v1?api_key=hush",
    "https://h/v1?api-version=1&sig=hush",
    "me:hush@h:1",
    "hush@h",
    ":hush@h?password=hush",
    "http:\\\\me:hush@h/v1",
)


def test_no_secret_of_a_url_is_shown(subtests: pytest.Subtests) -> None:
    for url in WITH_SECRET:
        with subtests.test(url=url):
            assert "hush" not in redact_url(url).replace("hu%73h", "hush")
            said = f"cannot connect to {url} now"
            assert "hush" not in redact_secrets(said.replace("hu%73h", "hush"), PinnedSettings(base_url=url))


def test_no_secret_of_a_url_is_in_an_error_or_a_listing(subtests: pytest.Subtests) -> None:
    for url in WITH_SECRET:
        with subtests.test(url=url):
            said = [str(mask_secrets("base_url", url))]
            for field in ("redis_url", "broker_url"):
                try:
                    settings = Settings.tuned(**{field: SecretStr(url)})
                    said.append(str(mask_secrets(field, getattr(settings, field))))
                    connect(url, 0.1).close()
                except ConfigurationError as error:
                    said.append(str(error))
            try:
                found = address_of(Settings(base_url=url, api_key=SecretStr("sk-key")).endpoint_table()["default"])
                said += [found.server, repr(found)]
                assert "hush" in " ".join(found.keys), "what an endpoint is sent, it may repeat"
            except ConfigurationError as error:
                said.append(str(error))
            assert "hush" not in " ".join(said)


def test_parts_that_are_not_secret_are_shown(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [
        ("redis://h:1/0", "redis://h:1/0"),
        ("redis://me:pw@h:1/0", "redis://me:***@h:1/0"),
        ("redis://:pw@h/4?db=1&x=2", "redis://:***@h/4?db=1&x=***"),
        ("redis://me:p%40ss@h", "redis://me:***@h"),
        ("unix:///s?db=0", "unix:///s?db=0"),
        ("unix:///a@b/s?db=0", "unix:///a@b/s?db=0"),
        ("redis://me@h", "redis://me@h"),
        ("redis://me:@h", "redis://me:***@h"),
        ("localhost:6379", "localhost:6379"),
        ("https://h/v1?api-version=2&key=x", "https://h/v1?api-version=2&key=***"),
    ]
    for url, shown in cases:
        with subtests.test(url=url):
            assert redact_url(url) == shown


def test_a_secret_is_recognized_encoded_and_decoded() -> None:
    assert [*secrets_of("redis://me:p%40ss@h/0?db=1&token=t%20k")] == ["p%40ss", "p@ss", "t%20k", "t k"]


@pytest.mark.parametrize("url", ["redis://h/0?colour=red", "redis://h:port/0", "redis://h:99999/0", "redis://[/0"])
def test_a_url_that_no_client_can_use_is_refused_before_it_is_used(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a Redis URL"):
        connect(url, 0.1)


def test_a_url_of_a_file_with_other_line_ends_is_read() -> None:
    assert Settings(redis_url=SecretStr(" redis://h/0\r\n")).state_url() == "redis://h/0"

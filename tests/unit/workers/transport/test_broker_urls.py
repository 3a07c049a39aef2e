"""Addresses of brokers as kombu and Flower want them, and the certificates that they check."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.workers.transport.broker_url import FILES, kombu_url, tls


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("redis://me:x@here:6379/1", "redis://me:x@here:6379/1"),
        ("redis://here/1?ssl_cert_reqs=none", "redis://here/1?ssl_cert_reqs=none"),
        ("rediss://here/1", "rediss://here/1"),
        ("rediss://me:x@here/1?ssl_cert_reqs=none&db=3&ssl_ca_certs=/ca.pem", "rediss://me:x@here/3"),
        ("redis://here/0?db=4&password=p%40ss", "redis://:p%40ss@here/4"),
        ("redis://here/0?username=me&password=x&timeout=5", "redis://me:x@here/0?timeout=5"),
        ("redis://me:x@here/0?password=y", "redis://me:x@here/0"),
        ("unix:///run/redis.sock?password=x&db=1", "redis+socket://:x@/run/redis.sock?virtual_host=1"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock"),
        ("unix:///run/redis.sock?db=2", "redis+socket:///run/redis.sock?virtual_host=2"),
        (
            "unix://me:p%40ss@/run/redis.sock?db=2&health=5",
            "redis+socket://me:p%40ss@/run/redis.sock?virtual_host=2&health=5",
        ),
        ("unix:///run/a b%20c.sock", "redis+socket:///run/a%20b%20c.sock"),
    ],
)
def test_an_address_is_as_kombu_reads_it(url: str, wanted: str) -> None:
    assert kombu_url(url) == wanted


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": "here"}),
        ("?ssl_cert_reqs=none", {"cert_reqs": ssl.CERT_NONE}),
        ("?ssl_check_hostname=false", {"cert_reqs": ssl.CERT_REQUIRED}),
        (
            "?ssl_ca_certs=/ca.pem&ssl_certfile=/c&ssl_keyfile=/k",
            {
                "cert_reqs": ssl.CERT_REQUIRED,
                "server_hostname": "here",
                "ca_certs": "/ca.pem",
                "certfile": "/c",
                "keyfile": "/k",
            },
        ),
    ],
)
def test_certificates_of_rabbitmq_are_checked_unless_the_address_disables_it(
    query: str, options: dict[str, Any]
) -> None:
    assert tls(f"amqps://me:x@here:5671/town{query}") == options
    assert kombu_url(f"amqps://me:x@here:5671/town{query}") == "amqps://me:x@here:5671/town"


@pytest.mark.parametrize(
    "url", ["amqp://here/1", "redis://here/1?ssl_cert_reqs=none", "unix:///run/redis.sock", "redis://rediss://"]
)
def test_only_encrypted_connections_have_certificates(url: str) -> None:
    assert tls(url) is None


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {}),
        ("?db=3", {}),
        ("?ssl_cert_reqs=none", {"ssl_cert_reqs": ssl.CERT_NONE}),
        ("?ssl_cert_reqs=Optional", {"ssl_cert_reqs": ssl.CERT_OPTIONAL}),
        ("?ssl_cert_reqs=required", {}),
        ("?ssl_check_hostname=False", {"ssl_check_hostname": False}),
        ("?ssl_check_hostname=true", {"ssl_check_hostname": True}),
        ("?ssl_ca_certs=/ca.pem&ssl_keyfile=/k", {"ssl_ca_certs": "/ca.pem", "ssl_keyfile": "/k"}),
    ],
)
def test_certificates_are_checked_unless_the_address_disables_it(query: str, options: dict[str, Any]) -> None:
    assert tls(f"rediss://here/1{query}") == {"ssl_cert_reqs": ssl.CERT_REQUIRED} | options


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("ssl_cert_reqs=maybe", "ssl_cert_reqs='maybe' in the broker's URL is not one of none, optional, required"),
        ("ssl_check_hostname=yes", "ssl_check_hostname='yes' in the broker's URL is not one of true, false"),
        (
            "ssl_z=1&ssl_a=1",
            "'ssl_a' in the broker's URL is not one of ssl_cert_reqs, ssl_check_hostname, ssl_ca_certs",
        ),
        (f"ssl_{'x' * 200}=1", f"'ssl_{'x' * 76}' in the broker's URL"),
        (f"ssl_cert_reqs={'x' * 200}", f"ssl_cert_reqs='{'x' * 80}' in"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(query: str, why: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        tls(f"rediss://here/1?{query}")
    assert why in str(refused.value)


def test_files_of_certificates_are_named_as_redis_names_them() -> None:
    assert all(
        tls(f"rediss://here/1?{name}=/file") == {"ssl_cert_reqs": ssl.CERT_REQUIRED, name: "/file"} for name in FILES
    )

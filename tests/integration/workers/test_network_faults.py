"""Failures between a worker and its endpoint are classified, and the key is not blamed for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from cogitate.ops.fake_llm.completions import FakeResponse, error
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.workers.llm.replies.failures import CLASSES, FailureKind
from tests.integration.workers.endpoint_cases import serving
from tests.integration.workers.gate_case import MakeGate, call
from tests.integration.workers.llm_case import ask, client_of
from tests.ports import free_ports

PAGE = b"<!doctype html><title>Nein</title>"


def saying(status: int, body: bytes, **headers: str) -> FakeResponse:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return FakeResponse(status=status, body=body, headers=named, content_type="text/html")


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (saying(403, PAGE), "blocked"),
        (saying(451, PAGE), "blocked"),
        (saying(403, b"code 17: nein"), "blocked"),
        (FakeResponse(status=403, body=b"code 17: nein", content_type="text/plain"), "forbidden"),
        (saying(511, PAGE), "blocked"),
        (saying(302, b"", Location="http://login.invalid/?from=here"), "blocked"),
        (saying(302, b"", Location="/elsewhere"), "no_completion"),
        (saying(302, b"", Location="http://[nein"), "no_completion"),
        (saying(200, PAGE), "no_completion"),
        (saying(407, PAGE), "proxy"),
        (error(403, "nein", "Nein."), "forbidden"),
        (saying(403, b""), "forbidden"),
        (saying(401, PAGE), "auth"),
    ],
)
def test_an_intermediarys_response_is_distinguished_from_the_endpoints(response: FakeResponse, kind: str) -> None:
    with FakeEndpoint(rule=lambda request, in_flight: response) as endpoint, client_of(endpoint.url) as client:
        failure = ask(client).failure
    assert failure is not None
    assert failure.kind == kind


def test_a_web_page_from_an_endpoint_that_has_answered_before_counts_as_blocked() -> None:
    other = FakeResponse(status=200, body=b'{"status": "up"}')
    said: list[FakeResponse | None] = [None, saying(200, PAGE), other, None]

    def rule(request: Mapping[str, Any], in_flight: int) -> FakeResponse | None:
        return said.pop(0)

    with FakeEndpoint(rule=rule) as endpoint, client_of(endpoint.url) as client:
        failures = [ask(client).failure for _ in range(4)]
    assert [failure and failure.kind for failure in failures] == [None, "blocked", "no_completion", None]


@pytest.mark.parametrize(("fault", "kind"), [("dns", "dns"), ("tls_self_signed", "tls"), ("refused", "connection")])
def test_the_cause_of_a_failed_connection_is_classified(fault: str, kind: str) -> None:
    case = {"response": {"fault": fault, "status": 0}, "trigger": {"kind": "always"}}
    with serving(case, "reflect") as (url, _), client_of(url) as client:
        answer = ask(client)
    assert answer.failure is not None
    assert (answer.failure.kind, answer.usage.calls) == (kind, 0)


@pytest.mark.parametrize(("status", "kind"), [(407, "proxy"), (403, "blocked"), (502, "connection")])
def test_a_proxy_that_opens_no_tunnel_is_classified(status: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = {"response": {"status": status, "body": "Nein"}, "trigger": {"kind": "always"}}
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving(case, "reflect") as (url, _):
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, url.removesuffix("/v1"))
        with client_of(f"https://endpoint.invalid:{free_ports()}/v1") as client:
            failure = ask(client).failure
    assert failure is not None
    assert failure.kind == kind


@pytest.mark.parametrize("kind", ["dns", "tls", "proxy", "blocked"])
def test_the_breaker_names_what_to_check_and_not_the_key(kind: FailureKind, gate_of: MakeGate) -> None:
    gate = gate_of({"breaker_failures": 2})
    with capture_logs() as logs:
        call(gate, kind)
        call(gate, kind)
        gate.close()
    (opened,) = [entry for entry in logs if entry["event"] == "endpoint.opened"]
    assert (opened["why"], opened["check"]) == (kind, CLASSES[kind].check)
    assert "key" not in opened["check"]

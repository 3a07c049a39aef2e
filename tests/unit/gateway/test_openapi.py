"""What the gateway publishes of itself, checked against what it does."""

from __future__ import annotations

import json
from collections.abc import Iterator

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.gateway_client import Served, serving
from tests.unit.gateway.village_case import ADA, OPEN

SETTINGS = hypothesis.settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(hypothesis.HealthCheck)
)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A gateway at which the run `v` is open."""
    with serving(patience=1.0) as served:
        served.client.answer("/runs/v/open", OPEN)
        served.client.answer("/runs/v/ticks/1", {})
        yield served


OPERATIONS = [
    ("GET", "/health"),
    ("POST", "/runs/{run}/open"),
    ("GET", "/runs/{run}"),
    ("POST", "/runs/{run}/ticks/{tick}"),
    ("POST", "/runs/{run}/memory"),
    ("POST", "/runs/{run}/steer"),
    ("GET", "/runs/{run}/status"),
    ("POST", "/runs/{run}/close"),
]


def test_every_request_is_published_and_no_page_is_loaded_from_elsewhere(served: Served) -> None:
    published = served.client.get("/openapi.json").body
    found = {(method.upper(), path) for path, one in published["paths"].items() for method in one}
    assert found == {*OPERATIONS, ("GET", "/runs/{run}/events")}  # which never ends
    assert "http" not in json.dumps(published).replace("http://json-schema", "")
    assert {"Turn", "OpenRun", "Ticked", "Problem", "Recall"} <= set(published["components"]["schemas"])


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_reply_matches_the_published_schema(served: Served, method: str, path: str, mode: GenerationMode) -> None:
    if mode == GenerationMode.NEGATIVE and path == "/health":
        return  # it takes nothing that could be wrong
    schema = schemathesis.openapi.from_url(f"{served.client.url}/openapi.json")
    operation = schema[path][method]

    @SETTINGS
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:  # type: ignore[type-arg]
        if case.path_parameters and "run" in case.path_parameters and path != "/runs/{run}/open":
            case.path_parameters["run"] = "v"
        if isinstance(case.body, dict) and path == "/runs/{run}/memory" and mode == GenerationMode.POSITIVE:
            case.body["owner"] = ADA
        case.call_and_validate(checks=CHECKS)

    check()

"""The fault of an endpoint is found from the calls that fail: cases of each scope, without any vendor's wording."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.workers.endpoint_cases import Case, found_in, misses

ALWAYS, PROMPT, MODEL = {"kind": "always"}, {"kind": "prompt"}, {"kind": "model"}


def case(
    name: str, trigger: dict[str, Any], status: int, body: object, scope: str, retry: str, wait: float | None = None
) -> Case:
    kinds = {str: "text/html" if str(body).startswith("<") else "text/plain"}
    headers = {"content-type": kinds.get(type(body), "application/json")}
    if wait is not None:
        headers["retry-after"] = str(wait)
    right = {"outcome": "no_answer", "scope": scope, "retry": retry, "wait_s": wait}
    response = {"status": status, "headers": headers, "body": body}
    return {"id": name, "trigger": trigger, "response": response, "right": right}


def of(parameter: str) -> dict[str, Any]:
    return {"kind": "parameter", "name": parameter}


NO = {"error": {"message": "Nein."}}
BLAMED = {"error": {"message": "No endpoints found that can handle the requested parameters.", "code": 404}}
CASES = [
    case("a prompt, forbidden", PROMPT, 403, NO, "prompt", "never"),
    case("a prompt, in a status of its own", PROMPT, 455, NO, "prompt", "never"),
    case("a prompt, behind a page", PROMPT, 422, "<html>Nein</html>", "prompt", "never"),
    case("a model, forbidden", MODEL, 403, NO, "model", "never"),
    case("a model, unauthorised", MODEL, 401, NO, "model", "never"),
    case("a model, gone", MODEL, 410, NO, "model", "never"),
    case("a model, without a cause", MODEL, 400, NO, "model", "never"),
    case("the key", ALWAYS, 401, NO, "key", "never"),
    case("the key, forbidden", ALWAYS, 403, NO, "key", "never"),
    case("the account", ALWAYS, 402, NO, "account", "never"),
    case("a firewall", ALWAYS, 403, "<!doctype html><p>Nein", "network", "later"),
    case("a prompt, forbidden in plain text", PROMPT, 403, "Nein", "prompt", "never"),
    case("a model, forbidden in plain text", MODEL, 403, "Nein", "model", "never"),
    case("a model, failing on a working server", MODEL, 500, NO, "model", "later"),
    case("the key, forbidden in plain text", ALWAYS, 403, "Nein", "key", "never"),
    case("a login page", ALWAYS, 511, "<!doctype html><p>Nein", "network", "later"),
    case("the proxy", ALWAYS, 407, "<!doctype html><p>Nein", "network", "never"),
    case("the server", ALWAYS, 500, NO, "endpoint", "later"),
    case("a limit of the account", ALWAYS, 429, NO, "account", "later"),
    case("a limit of the account, with a time", ALWAYS, 429, NO, "account", "after_hint", 40.0),
    case("a limit of a model", MODEL, 429, NO, "model", "later"),
    case("a limit of a model, with a time", MODEL, 429, NO, "model", "after_hint", 40.0),
    case("a named parameter", of("temperature"), 400, {"detail": "temperature: nein"}, "parameter", "now"),
    case("an unnamed parameter", of("temperature"), 400, NO, "parameter", "now"),
    case("a parameter, as if the model were missing", of("temperature"), 404, BLAMED, "parameter", "now"),
    case("an unnamed seed", of("seed"), 422, NO, "parameter", "now"),
    case("an unnamed schema", of("response_format"), 400, NO, "parameter", "now"),
    case("an unnamed cap", of("max_tokens"), 400, NO, "parameter", "now"),
    case("an unnamed system message", of("system role"), 400, NO, "parameter", "now"),
]


@pytest.mark.parametrize("one", CASES, ids=[one["id"] for one in CASES])
def test_the_fault_follows_from_the_calls_that_fail(one: Case) -> None:
    assert misses(one, found_in(one)) == []

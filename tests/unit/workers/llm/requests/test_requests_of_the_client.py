"""The client's requests are those that OpenAI's SDK writes, without its import."""

from __future__ import annotations

import subprocess
import sys

import httpx2
import pytest
from pydantic import SecretStr

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.workers.llm.requests.address import address_of, request_to

OURS = {"accept", "accept-encoding", "authorization", "content-type", "openai-organization", "openai-project"}


def written_by_the_sdk(base_url: str, path: str) -> httpx2.Request:
    import openai  # here, since that is slow

    written: list[httpx2.Request] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        written.append(request)
        return httpx2.Response(200)

    with openai.OpenAI(
        api_key="sk-x",
        base_url=base_url,
        max_retries=0,
        default_headers={"Accept-Encoding": "identity"},
        http_client=httpx2.Client(transport=httpx2.MockTransport(keep)),
    ) as sdk:
        if path == "/models":
            sdk.get(path, cast_to=httpx2.Response)
        else:
            sdk.post(path, cast_to=httpx2.Response, body={})
    return written[0]


@pytest.mark.parametrize("path", ["/chat/completions", "/models"])
@pytest.mark.parametrize(
    "base_url",
    [
        "http://localhost:8000/v1",
        "https://api.example.com/v1/",
        "http://127.0.0.1:11434/a/b/c",
        "http://ann:s%3Acret@localhost:8000/v1",
        "http://ann@localhost/v1",
    ],
)
@pytest.mark.parametrize("account", [{}, {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-2"}])
def test_a_request_equals_the_sdks(
    base_url: str, path: str, account: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in account.items():
        monkeypatch.setenv(name, value)
    theirs = written_by_the_sdk(base_url, path)
    ours = request_to(address_of(Endpoint(base_url=base_url, api_key=SecretStr("sk-x"))), path)  # type: ignore[arg-type]
    assert (ours.method, ours.url) == (theirs.method, str(theirs.url.copy_with(userinfo=b"")))
    headers = {name.lower(): value for name, value in ours.headers.items()}
    expected = {name: value for name, value in theirs.headers.items() if name in OURS}
    expected.setdefault("content-type", "application/json")  # of a request without a body they send none
    assert {name: value for name, value in headers.items() if name in OURS} == expected
    assert "cret" not in repr(ours)


def test_a_request_identifies_its_sender() -> None:
    request = request_to(address_of(Endpoint(base_url="http://there/v1", api_key=SecretStr("k"))), "/models")
    assert request.headers["User-Agent"] == "Cogitate"


def test_a_request_shows_no_key() -> None:
    request = request_to(address_of(Endpoint(base_url="http://there/v1", api_key=SecretStr("sk-planted"))), "/models")
    assert "sk-planted" in str(request.headers)
    assert "sk-planted" not in repr(request)


def test_a_query_of_the_base_url_stays() -> None:
    address = address_of(Endpoint(base_url="http://localhost/openai/v1?api-version=3", api_key=SecretStr("k")))
    assert request_to(address, "/chat/completions").url == "http://localhost/openai/v1/chat/completions?api-version=3"


def test_a_worker_with_models_does_not_load_the_sdk() -> None:
    program = (
        "import cogitate.workers.jobs.process_lane, cogitate.workers.llm.client, sys; print('openai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

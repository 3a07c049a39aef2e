"""Where and with which key an endpoint is called: what is sent, and what may be shown."""

from __future__ import annotations

import base64

import pytest
from pydantic import SecretStr

from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.workers.llm.requests.address import OPENAI, Address, address_of, servers_of

KEY = "sk-planted-5f1d2c"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, *map(str.upper, PROXIES), "OPENAI_BASE_URL", "OPENAI_API_KEY", "LOCAL_KEY"):
        monkeypatch.delenv(name, raising=False)


def endpoint(url: str | None = "http://there:8500/v1", key: str | None = KEY, **more: str) -> Endpoint:
    return Endpoint(base_url=url, api_key=None if key is None else SecretStr(key), **more)  # type: ignore[arg-type]


def test_a_key_is_the_endpoints_own_else_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_KEY", " from-the-environment ")
    assert address_of(endpoint(api_key_variable="LOCAL_KEY")).api_key == KEY
    assert address_of(endpoint(key=None, api_key_variable="LOCAL_KEY")).api_key == "from-the-environment"
    assert address_of(endpoint(key=None)).api_key == "none", "a local server needs none"


def test_without_a_url_the_endpoint_is_openai_and_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    found = address_of(endpoint(url=None))
    assert (found.base_url, found.is_openai) == (OPENAI, True)
    with pytest.raises(ConfigurationError, match="no API key"):
        address_of(endpoint(url=None, key=None))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://there/v1")
    named = address_of(endpoint(url=None, key=None))
    assert (named.base_url, named.is_openai) == ("http://there/v1", False)


@pytest.mark.parametrize("key", ["two words", "tab\tin", "line\nfeed", "ümlaut", "bell\a"])
def test_a_key_that_no_header_holds_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match="has invalid characters") as refused:
        address_of(endpoint(key=key))
    assert key not in str(refused.value)


@pytest.mark.parametrize("url", ["ftp://user:secret@there/v1", "user:secret@there", "http://", "https:///v1"])
def test_anything_but_a_web_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a URL") as refused:
        address_of(endpoint(url))
    assert "secret" not in str(refused.value)
    assert url.rpartition("@")[2] in str(refused.value)


def test_only_public_parts_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://user:proxy-secret@proxy:3128")
    found = address_of(endpoint("http://user:secret@there:8500/v1?key=secret#secret"))
    assert found.server == "http://there:8500/v1"
    assert found.proxy == "http://user:proxy-secret@proxy:3128"
    assert not any(word in repr(found) for word in ("secret", KEY))
    endpoints = {"default": endpoint("http://user:secret@there:8500/v1"), "other": endpoint(url=None)}
    assert servers_of(Settings(endpoints=endpoints)) == {"default": "http://there:8500/v1", "other": OPENAI}


@pytest.mark.parametrize(
    ("url", "proxy", "encrypted"),
    [
        ("https://there/v1", None, True),
        ("HTTPS://there/v1", None, True),
        ("http://there/v1", None, False),
        ("http://there/v1", "https://proxy", True),
        ("http://there/v1", "http://proxy", False),
        ("http://https.there/v1", None, False),
    ],
)
def test_tls_is_needed_by_the_endpoint_or_its_proxy(url: str, proxy: str | None, encrypted: bool) -> None:
    assert Address(base_url=url, api_key=KEY, proxy=proxy, is_openai=False).is_encrypted is encrypted


def test_this_machine_and_the_environments_exceptions_bypass_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    monkeypatch.setenv("https_proxy", "http://secure:3128")
    monkeypatch.setenv("no_proxy", "near")
    proxies = {host: address_of(endpoint(f"http://{host}/v1")).proxy for host in ("localhost", "127.0.0.1", "near")}
    assert set(proxies.values()) == {None}
    assert address_of(endpoint("http://far/v1")).proxy == "http://proxy:3128"
    assert address_of(endpoint("https://far/v1")).proxy == "http://secure:3128"


def test_key_user_and_password_are_the_secrets_an_endpoint_may_repeat() -> None:
    assert address_of(endpoint()).keys == (KEY,)
    found = address_of(endpoint("http://user:s%20ecret-word@there/v1"))
    assert found.keys == (base64.b64encode(b"user:s ecret-word").decode(), "s%20ecret-word", "s ecret-word")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("http://there/v1\r", "http://there/v1"),
        (" http://there/v1/ ", "http://there/v1/"),
        ("http://there/v1/chat/completions", "http://there/v1"),
        ("http://there/v1/chat/completions/", "http://there/v1"),
        ("http://there/v1/chat/completions?api-version=1\n", "http://there/v1?api-version=1"),
    ],
)
def test_an_address_is_read_as_files_of_variables_and_pages_of_providers_give_it(given: str, read: str) -> None:
    assert address_of(endpoint(given)).base_url == read


@pytest.mark.parametrize(
    "url",
    [
        "http://two words/v1",
        "http://th\tere/v1",
        "http://there:port/v1",
        "http://there:0/v1",
        "http://[::1/v1",
        "http://there:70000/v1",
        f"http://{'a' * 70}/v1",
        "http://\x1b[2J/v1",
        "http://there/v\u202e1",
    ],
)
def test_an_address_that_no_client_can_call_is_refused_in_a_line(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a URL") as refused:
        address_of(endpoint(url))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("variables", "proxy"),
    [
        ({"ALL_PROXY": "http://proxy:1"}, "http://proxy:1"),
        ({"ALL_PROXY": "socks5://proxy:1"}, None),
        ({"ALL_PROXY": "socks5://proxy:1", "HTTP_PROXY": "http://own:2"}, "http://own:2"),
        ({"HTTP_PROXY": ""}, None),
        ({"HTTP_PROXY": "proxy:3128\r"}, "http://proxy:3128"),
        ({"HTTP_PROXY": "socks5://p:1", "NO_PROXY": "*"}, None),
        ({"HTTPS_PROXY": "::::"}, None),
        ({"NO_PROXY": ",,.*[(", "HTTP_PROXY": "http://p:1"}, "http://p:1"),
    ],
)
def test_the_environment_names_a_proxy(
    variables: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert address_of(endpoint()).proxy == proxy


@pytest.mark.parametrize("proxy", ["socks5://me:secret@proxy:1", "::::", "http://", "http://proxy:port", "ftp://p\x1b"])
def test_an_invalid_proxy_is_refused_in_one_line(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(ConfigurationError, match="is not an HTTP proxy") as refused:
        address_of(endpoint())
    assert "secret" not in str(refused.value)
    assert str(refused.value).isprintable()

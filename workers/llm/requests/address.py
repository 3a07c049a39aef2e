"""Resolves and checks the address and key of an endpoint, from its configuration and the environment.

Requests are identical to those of OpenAI's SDK; a test compares them. Importing the SDK would cost each worker more
than half a second of CPU time.
"""

from __future__ import annotations

import base64
import os
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from cogitate.memory.errors import CogitateError
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.urls import redact_url, secrets_of

if TYPE_CHECKING:
    import openai

OPENAI = "https://api.openai.com/v1"
COMPLETIONS = "/chat/completions"  # the path of requests, relative to the base URL


@dataclass(frozen=True, kw_only=True)
class Address:
    """The address of an endpoint for a client."""

    base_url: str = field(repr=False)  # may contain a password
    api_key: str = field(repr=False)
    proxy: str | None = field(repr=False)
    is_openai: bool  # rather than a compatible server

    @property
    def is_encrypted(self) -> bool:
        """Return whether the endpoint or its proxy needs TLS."""
        return any(url.lower().startswith("https:") for url in (self.base_url, self.proxy or ""))

    @property
    def server(self) -> str:
        """Return the base URL without user, password and query: it identifies a server and is safe to show."""
        return _shown(self.base_url)

    @property
    def basic(self) -> str:
        """Return the URL's user and password encoded for Basic authentication, which replaces the key; or ""."""
        named, at, _ = urllib.parse.urlsplit(self.base_url).netloc.rpartition("@")
        user, _, password = map(urllib.parse.unquote, named.partition(":"))
        return base64.b64encode(f"{user}:{password}".encode()).decode() if at else ""

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the secrets that requests carry: the key, or user and password."""
        return (self.basic or self.api_key, *secrets_of(self.base_url))


@dataclass(frozen=True)
class Request:
    """A request without a body."""

    method: Literal["GET", "POST"]
    url: str  # without user and password
    headers: Mapping[str, str] = field(repr=False)  # including the key


def servers_of(settings: Settings) -> dict[str, str]:
    """Return the URL of each configured endpoint without secrets, whether it is usable or not."""
    return {name: _shown(_base_url(endpoint) or OPENAI) for name, endpoint in settings.endpoint_table().items()}


def called_servers(settings: Settings) -> dict[str, str]:
    """Return the URLs that a host's own workers call; {} if workers run elsewhere, with settings of their own."""
    return servers_of(settings) if settings.workers else {}


def address_of(endpoint: Endpoint) -> Address:
    """Return the address and key for calls to an endpoint.

    Raises:
        ConfigurationError: if the key or the URL is missing or invalid.
    """
    named = _base_url(endpoint)
    base_url = named or OPENAI
    if not _is_web_address(base_url):
        raise ConfigurationError(f"base_url {redact_url(base_url)!r} is not a URL that begins with http:// or https://")
    proxy = _proxy(base_url)
    return Address(base_url=base_url, api_key=_key(endpoint, not named), proxy=proxy, is_openai=not named)


def request_to(address: Address, path: Literal["/chat/completions", "/embeddings", "/models"]) -> Request:
    """Return a request to this endpoint for a completion, for vectors, or for its list of models."""
    url = urllib.parse.urlsplit(address.base_url)
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Authorization": f"Basic {address.basic}" if address.basic else f"Bearer {address.api_key}",
        "Content-Type": "application/json",
        "User-Agent": "Cogitate",
    }
    for name, variable in (("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")):
        if value := os.environ.get(variable):
            headers[name] = value
    whole = urllib.parse.urlunsplit(
        (url.scheme, url.netloc.rpartition("@")[2], url.path.rstrip("/") + path, url.query, "")
    )
    return Request("GET" if path == "/models" else "POST", whole, headers)


def _base_url(endpoint: Endpoint) -> str:
    """Return the URL that precedes request paths; "" if neither settings nor environment name one.

    Providers' pages often show the URL including a request's path, and env files may end lines with CR LF.
    """
    named = ((endpoint.base_url or "").strip() or os.environ.get("OPENAI_BASE_URL", "")).strip()
    base, question, query = named.partition("?")
    return base.rstrip("/").removesuffix(COMPLETIONS) + question + query if COMPLETIONS in base else named


def _is_web_address(url: str) -> bool:
    """Return whether a client can call this URL, of an endpoint or a proxy."""
    try:
        parts = urllib.parse.urlsplit(url)
        (parts.hostname or "").encode("idna")
        reachable = bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid host or port; includes UnicodeError
        return False
    return reachable and parts.scheme in ("http", "https") and url.isprintable() and " " not in url


def _shown(base_url: str) -> str:
    if not _is_web_address(base_url):
        return redact_url(base_url)
    url = urllib.parse.urlsplit(base_url)
    return urllib.parse.urlunsplit((url.scheme, url.netloc.rpartition("@")[2], url.path, "", ""))


def _key(endpoint: Endpoint, is_openai: bool) -> str:
    """Return the key to send: the configured one, else the environment's; "none" for a server that needs none."""
    configured = endpoint.api_key.get_secret_value() if endpoint.api_key is not None else None
    key = (configured or os.environ.get(endpoint.api_key_variable) or "").strip()
    if not key and is_openai:
        raise ConfigurationError(
            f"no API key: set COGITATE_API_KEY or {endpoint.api_key_variable}, or base_url for a local server"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigurationError(
            "the API key has invalid characters; check COGITATE_API_KEY, api_key of the endpoint, or "
            f"{endpoint.api_key_variable}"
        )
    return key or "none"


def _proxy(base_url: str) -> str | None:
    """Return the proxy for this endpoint from the environment, if any.

    ALL_PROXY addresses many programs, so this ignores a value that is not an HTTP proxy.

    Raises:
        ConfigurationError: if HTTP_PROXY or HTTPS_PROXY is not the URL of an HTTP proxy.
    """
    url = urllib.parse.urlsplit(base_url)
    host = url.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or urllib.request.proxy_bypass(host):
        return None
    named = urllib.request.getproxies()
    own, general = (_with_scheme(named.get(scheme, "")) for scheme in (url.scheme, "all"))
    if own and not _is_web_address(own):
        raise ConfigurationError(
            f"{url.scheme.upper()}_PROXY {redact_url(own)!r} is not an HTTP proxy: give http://host:port, unset it, or "
            f"exclude the endpoint with NO_PROXY={host}"
        )
    return own or (general if _is_web_address(general) else "") or None


def _with_scheme(proxy: str) -> str:
    named = proxy.strip()
    return named if not named or "://" in named else f"http://{named}"


def open_client(address: Address, timeout: float) -> openai.OpenAI:
    """Return an SDK client that reaches an endpoint the way workers do, through the same proxy.

    By default the SDK reads proxies from the environment, and fails if it does not support one of them.

    Args:
        timeout: seconds for one request.
    """
    import httpx2
    import openai

    http = openai.DefaultHttpxClient(proxy=address.proxy, trust_env=False, verify=httpx2.create_ssl_context())
    return openai.OpenAI(
        api_key=address.api_key, base_url=address.base_url, max_retries=0, timeout=timeout, http_client=http
    )


class Unlisted(CogitateError):
    """An endpoint does not list its models; the message says why."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def offered_models(address: Address, timeout: float) -> frozenset[str]:
    """Return the names of the models that an endpoint lists; the request is free.

    Raises:
        Unlisted: if it does not list them within `timeout` seconds.
    """
    import openai

    try:
        with open_client(address, timeout) as client:
            return frozenset(model.id for model in client.models.list())
    except openai.APIStatusError as error:
        raise Unlisted(str(error.status_code), error.status_code) from None
    except openai.APIError as error:
        raise Unlisted(type(error).__name__) from None
    except (TypeError, ValueError, AttributeError):  # the SDK's errors for a response that is not a list
        raise Unlisted("its response is not a list of models") from None

"""Redact URLs for display, and find the secrets in them: passwords, keys in queries, and possible secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import SplitResult, unquote, urlsplit

HIDDEN = "***"
#: The parameters of a query that hold no secret. A provider may call a key anything, so every other value is hidden.
_HARMLESS = frozenset(
    {
        "api-version",
        "client_name",
        "db",
        "health_check_interval",
        "max_connections",
        "protocol",
        "socket_connect_timeout",
        "socket_keepalive",
        "socket_timeout",
        "ssl_ca_certs",
        "ssl_ca_path",
        "ssl_cert_reqs",
        "ssl_certfile",
        "ssl_check_hostname",
        "ssl_keyfile",
        "timeout",
        "virtual_host",
    }
)
_NAME = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")  # of a parameter
_ENCODED_USER = re.compile(r"%(?:40|3a)", re.IGNORECASE)  # "@" or ":" in the place of a host


def redact_url(url: str) -> str:
    """Return a URL without its secrets; hide every part that may be secret if the URL is ambiguous."""
    if "://" not in url:
        before, at, rest = url.rpartition("@")
        rest = re.split(r"[?#;]", rest, maxsplit=1)[0]
        return f"{HIDDEN}@{rest}" if at else f"{before}{rest}"
    parts = _split(url)
    if parts is None:
        return f"{url.partition('://')[0][:20]}://{HIDDEN}"
    login, at, host = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    if at and not colon and parts.scheme in ("http", "https"):
        user = HIDDEN  # a token alone
    shown = f"{parts.scheme}://{user}{colon and ':' + HIDDEN}{at}{host}{parts.path}"
    if parts.query:
        shown += "?" + "&".join(map(_shown_parameter, re.split("[&;]", parts.query)))
    return shown + (f"#{HIDDEN}" if parts.fragment else "")


def secrets_of(url: str) -> Iterator[str]:
    """Yield the secrets of a URL, encoded and decoded."""
    parts = _split(url)
    if parts is None:
        yield url
        return
    login = parts.netloc.rpartition("@")[0]
    user, colon, password = login.partition(":")
    found = [password if colon else user if parts.scheme in ("http", "https") else "", parts.fragment]
    for parameter in re.split("[&;]", parts.query):
        name, equals, value = parameter.partition("=")
        if unquote(name).lower() not in _HARMLESS:
            found.append(value if equals else name)
    for secret in found:
        if secret:
            yield secret
            yield unquote(secret)


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL; None where a sign of a password that is not encoded makes them uncertain."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = parts.netloc.rpartition("@")[2]
    beyond = parts.path + parts.query + parts.fragment if parts.netloc else parts.query + parts.fragment
    uncertain = "@" in (beyond if "://" in url else url) or _ENCODED_USER.search(host)
    return None if uncertain else parts


def _shown_parameter(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    if not equals or not _NAME.fullmatch(name):
        return HIDDEN
    return parameter if name.lower() in _HARMLESS else f"{name}={HIDDEN}"

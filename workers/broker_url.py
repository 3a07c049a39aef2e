"""A Redis URL as kombu and Flower want it."""

from __future__ import annotations

import ssl
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from scheduler.settings import ConfigurationError


def kombu_url(url: str) -> str:
    """A Redis URL as kombu and Flower want it: "unix://" becomes "redis+socket://", the rest stays as it is."""
    if not url.startswith("unix://"):
        return url
    parts = urlsplit(url)
    query = [("virtual_host" if name == "db" else name, value) for name, value in parse_qsl(parts.query)]
    login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    path = quote(parts.path, safe="/%")
    return f"redis+socket://{login}{path}" + (f"?{urlencode(query)}" if query else "")


def tls(url: str) -> dict[str, Any] | None:
    """The TLS options of a "rediss://" URL. kombu's own default checks no certificate, ours does.

    "?ssl_cert_reqs=none" in the URL switches the check off, for a server with a certificate of its own making.
    """
    if not url.startswith("rediss://"):
        return None
    asked = dict(parse_qsl(urlsplit(url).query)).get("ssl_cert_reqs", "required")
    modes = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
    mode = modes.get(asked.lower().removeprefix("cert_"))
    if mode is None:
        raise ConfigurationError(f"ssl_cert_reqs={asked!r} in the broker's URL is not one of {', '.join(modes)}")
    return {"ssl_cert_reqs": mode}

"""The HTTP requests of a client, identical to those of OpenAI's SDK.

A test compares them with the SDK's. Importing the SDK would take each worker more than half a second of CPU.
"""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cogitate.workers.llm.requests.address import Address


@dataclass(frozen=True)
class Request:
    """A request without a body."""

    method: Literal["GET", "POST"]
    url: str  # without user and password
    headers: Mapping[str, str] = field(repr=False)  # including the key


def request_to(address: Address, path: Literal["/chat/completions", "/models"]) -> Request:
    """Return the request to this endpoint for a completion, or for its models."""
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

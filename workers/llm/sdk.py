"""OpenAI's SDK for commands and searches. Importing it takes a second, so workers do without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cogitate.workers.llm.requests.address import Address

if TYPE_CHECKING:
    import openai


def open_client(address: Address, timeout: float) -> openai.OpenAI:
    """Return a client that reaches an endpoint the way workers do, through the same proxy.

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

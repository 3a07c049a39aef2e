"""OpenAI's SDK for commands and searches: importing it takes a second, so workers do without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cogitate.memory.errors import CogitateError
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

"""The models that an endpoint offers, read with OpenAI's SDK: for commands, not for workers."""

from __future__ import annotations

from cogitate.memory.errors import CogitateError
from cogitate.workers.llm.requests.address import Address
from cogitate.workers.llm.sdk import open_client


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

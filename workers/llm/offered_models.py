"""The models that an endpoint offers, by OpenAI's SDK: for commands, not for workers."""

from __future__ import annotations

from cogitate.memory.errors import CogitateError
from cogitate.workers.llm.requests.address import Address
from cogitate.workers.llm.sdk import open_client


class Unlisted(CogitateError):
    """An endpoint does not say which models it offers; the message says why."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def offered_models(address: Address, timeout: float) -> frozenset[str]:
    """Return the names of the models that an endpoint lists; asking costs nothing.

    Raises:
        Unlisted: when it does not list them, or not within `timeout` seconds.
    """
    import openai

    try:
        with open_client(address, timeout) as client:
            return frozenset(model.id for model in client.models.list())
    except openai.APIStatusError as error:
        raise Unlisted(str(error.status_code), error.status_code) from None
    except openai.APIError as error:
        raise Unlisted(type(error).__name__) from None
    except (TypeError, ValueError, AttributeError):  # what the SDK makes of a page that is no list
        raise Unlisted("it answers with something else") from None

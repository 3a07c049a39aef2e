"""Endpoints and models as they are configured, and a model as a run keeps it.

An endpoint is a server that takes calls, with its key and its limits. It belongs to this machine's configuration and
never enters the ledger. A job names a model: it has prices, and the run keeps it, so that every worker charges the same
whatever its own configuration is.
"""

from __future__ import annotations

import json
import re

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, field_validator

DEFAULT = "default"  # the endpoint and the model of the short settings: base_url, api_key, model, prices

_OURS = frozenset(
    {"model", "messages", "response_format", "max_tokens", "max_completion_tokens", "seed", "stream", "n"}
)
_MOST_PARAMETERS = 4_000  # characters of JSON

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Endpoint(BaseModel):
    """One OpenAI-compatible server. Limits that are None are not enforced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str | None = None  # None: OPENAI_BASE_URL, else the client's own default
    api_key: SecretStr | None = None  # None: the variable named below
    api_key_variable: str = "OPENAI_API_KEY"
    concurrency: int | None = Field(None, ge=1)  # calls in flight, of all workers together
    requests_per_minute: int | None = Field(None, ge=1)  # of all workers together
    burst: int = Field(0, ge=0)  # requests that may come ahead of that limit's even pace
    tokens_per_minute: int | None = Field(None, ge=1)  # reserved first, then used, of all workers together


class ModelSettings(BaseModel):
    """One model of an endpoint and what it costs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str = DEFAULT
    model: str  # the endpoint's name for it
    input_price: int = Field(0, ge=0)  # micro-dollars per million tokens
    cached_input_price: int | None = Field(None, ge=0)  # None: the input price
    output_price: int = Field(0, ge=0)  # reasoning included
    context: int | None = Field(None, ge=256)  # tokens of prompt and answer together
    seed: int | None = Field(None, ge=0, le=2**31 - 1)  # sent with each request; None: the endpoint chooses
    parameters: dict[str, JsonValue] = {}  # further ones of each request, such as temperature

    @field_validator("parameters")
    @classmethod
    def _parameters(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if ours := sorted(_OURS.intersection(value)):
            raise ValueError(f"{ours[0]!r} is set by Cogitate itself: leave it out")
        if len(json.dumps(value)) > _MOST_PARAMETERS:
            raise ValueError(
                f"more than {_MOST_PARAMETERS:,} characters of parameters: they are sent with each request"
            )
        return value

    @field_validator("model")
    @classmethod
    def _model(cls, value: str) -> str:
        if not value.strip() or len(value) > 200:
            raise ValueError(f"{value[:80]!r} is not a model's name: use 1 to 200 characters, as the endpoint calls it")
        return value

    def kept_as(self, name: str) -> Model:
        """Return the model as a run keeps it under this name."""
        cached = self.input_price if self.cached_input_price is None else self.cached_input_price
        return Model(
            name=name,
            model=self.model,
            endpoint=self.endpoint,
            input_price=self.input_price,
            cached_input_price=cached,
            output_price=self.output_price,
            context=self.context or 0,
            seed=self.seed,
            parameters=json.dumps(self.parameters, sort_keys=True) if self.parameters else "",
        )


class Model(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model as a run keeps it and a job names it."""

    name: str  # its name in jobs, journal and tiers
    model: str  # its endpoint's name for it
    endpoint: str = DEFAULT
    input_price: int = 0  # micro-dollars per million tokens
    cached_input_price: int = 0
    output_price: int = 0
    context: int = 0  # tokens; 0: not known
    seed: int | None = None  # seed of its sampling, if the endpoint supports it
    parameters: str = ""  # a JSON object: further parameters of each request


def check_name(name: str) -> str:
    """Return the name of an endpoint or a model, checked.

    Raises:
        ValueError: when it is no valid name.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:80]!r} names no endpoint or model: use lower-case letters, digits, '.', '_' or '-'")
    return name

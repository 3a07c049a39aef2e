"""Endpoints and models: their settings, the form in which a run stores a model, and the cost of a call.

An endpoint is a server that answers calls, with its key and its limits. It belongs to this machine's configuration and
never enters the ledger. A job names a model. The run stores its models with their prices, so every worker charges the
same amount regardless of its own configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SecretStr,
    field_validator,
    model_validator,
)

from cogitate.memory import typed_json
from cogitate.scheduler.config.price_table import ModelPrice, listed_price
from cogitate.tasks.job import Cost

DEFAULT = "default"  # the endpoint and the model of the short settings: base_url, api_key, model, prices

_OURS = frozenset(
    {"model", "messages", "response_format", "max_tokens", "max_completion_tokens", "seed", "stream", "n"}
)
_MOST_PARAMETERS = 4_000  # characters of JSON
_MOST_HEADROOM = 200_000  # tokens

Pack = Literal["auto", "off"]
Batch = Literal["auto", "off"]
ServiceTier = Literal["auto", "standard"]
STANDARD = "default"  # what providers call the standard service tier
FLEX = "flex"
BATCH = "batch"  # the name of batch files among the service tiers of a price

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Endpoint(BaseModel):
    """One OpenAI-compatible server. A limit of None is not enforced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str | None = None  # None: OPENAI_BASE_URL, else the client's own default
    api_key: SecretStr | None = None  # None: the value of `api_key_variable`
    api_key_variable: str = "OPENAI_API_KEY"
    concurrency: int | None = Field(None, ge=1)  # calls in flight, over all workers
    requests_per_minute: int | None = Field(None, ge=1)  # over all workers
    burst: int = Field(0, ge=0)  # requests that may run ahead of the even pace of `requests_per_minute`
    tokens_per_minute: int | None = Field(None, ge=1)  # over all workers; counts reservations, then usage


def _checked_parameters(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if ours := sorted(_OURS.intersection(value)):
        raise ValueError(f"{ours[0]!r} is set by Cogitate itself: leave it out")
    if len(json.dumps(value)) > _MOST_PARAMETERS:
        raise ValueError(f"more than {_MOST_PARAMETERS:,} characters of parameters: they are sent with each request")
    return value


Parameters = Annotated[dict[str, JsonValue], AfterValidator(_checked_parameters)]


class KindOfModelSettings(BaseModel):
    """The settings of a model that differ for one kind of job."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    headroom: int | None = Field(None, ge=0, le=_MOST_HEADROOM)  # None: the model's
    parameters: Parameters = {}  # override the model's parameters


class ModelSettings(BaseModel):
    """The settings of one model of an endpoint, with its prices."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str = DEFAULT
    model: str | None = None  # the endpoint's name for it; the short settings may give it for "default"
    input_price: int | None = Field(None, ge=0)  # micro-dollars per million tokens; None: from the table, if listed
    cached_input_price: int | None = Field(None, ge=0)  # None: from the table like the input price, else equal to it
    output_price: int | None = Field(None, ge=0)  # reasoning included; None: from the table, if listed
    context: int | None = Field(None, ge=256)  # tokens of prompt and answer together
    seed: int | None = Field(None, ge=0, le=2**31 - 1)  # sent with each request; None: the endpoint chooses
    parameters: Parameters = {}  # additional parameters of each request, such as temperature
    headroom: int = Field(0, ge=0, le=_MOST_HEADROOM)  # tokens for reasoning in addition to the answer
    reasons: bool = True  # whether prompts ask for reasons of actions and insights; very small models give none
    pack: Pack = "off"  # whether one request may ask about the jobs of several owners
    batch: Batch = "off"  # whether requests may go into batch files if their due ticks leave hours for the answer
    service_tier: ServiceTier = "standard"  # "auto": the cheaper, slower flex tier if the answer may wait
    kinds: dict[str, KindOfModelSettings] = {}  # by kind of job
    service_tiers: dict[str, Annotated[int, Field(ge=0, le=1_000)]] = {}  # per cent of the prices that each tier costs

    @field_validator("model")
    @classmethod
    def _model(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or len(value) > 200):
            raise ValueError(f"{value[:80]!r} is not a model's name: use 1 to 200 characters, as the endpoint calls it")
        return value

    @model_validator(mode="after")
    def _one_choice(self) -> ModelSettings:
        if self.service_tier == "auto" and "service_tier" in self.parameters:
            raise ValueError(
                f"parameters ask for the service tier {self.parameters['service_tier']!r}, and service_tier is 'auto': "
                "set one of them"
            )
        return self

    def price(self, name: str, base_url: str | None) -> ModelPrice:
        """Return the model's price: the settings, completed from the table."""
        model, stated = self.model or "", (self.input_price, self.output_price)
        listed = listed_price(model, base_url) if None in stated else None
        tiers = dict(listed.service_tiers) if listed else {}
        if not self._named_tiers() <= {STANDARD, *tiers, *self.service_tiers}:
            listed, tiers = None, {}  # the price of that tier is unknown
        automatic = {FLEX: self.service_tier == "auto", BATCH: self.batch == "auto"}
        used = self._named_tiers() | {tier for tier, is_used in automatic.items() if is_used}
        given = ModelPrice(
            name=name,
            model=model,
            origin="stated" if None not in stated else "table" if listed else "unknown",
            input=listed.input if listed and self.input_price is None else self.input_price,
            cached_input=self.cached_input_price,
            output=listed.output if listed and self.output_price is None else self.output_price,
            as_of=listed.as_of if listed else "",
            service_tiers={tier: percent for tier, percent in sorted(tiers.items()) if tier in used},
        )
        if given.cached_input is not None:
            return given
        cached = listed.cached_input if listed and self.input_price is None else given.input
        return msgspec.structs.replace(given, cached_input=cached)

    def kept_as(self, name: str, price: ModelPrice | None = None) -> Model:
        """Return the model in the form that a run stores, under this name.

        Args:
            price: the model's price; None: its price at the client's default endpoint.
        """
        price = price or self.price(name, None)
        known = price.input is not None and price.output is not None
        tiers = price.service_tiers | self.service_tiers
        kept = Model(
            name=name,
            model=price.model,
            endpoint=self.endpoint,
            input_price=price.input or 0 if known else 0,
            cached_input_price=price.cached_input or 0 if known else 0,
            output_price=price.output or 0 if known else 0,
            priced=known,
            context=self.context or 0,
            seed=self.seed,
            parameters=_text_of(self.parameters),
            headroom=self.headroom,
            reasons=self.reasons,
            pack=self.pack,
            batch=self.batch,
            service_tier=self.service_tier,
            kinds={
                kind: KindOfModel(headroom=own.headroom, parameters=_text_of({**self.parameters, **own.parameters}))
                for kind, own in sorted(self.kinds.items())
            },
            percent=max(self._percents(tiers)),
            service_tiers=dict(sorted(tiers.items())),
        )
        return typed_json.with_shared_defaults(kept)

    def _named_tiers(self) -> set[str]:
        """Return the service tiers that the parameters of the model's requests name."""
        named = (one.get("service_tier") for one in (self.parameters, *(k.parameters for k in self.kinds.values())))
        return {str(tier) for tier in named if tier is not None}

    def _percents(self, tiers: dict[str, int]) -> Iterator[int]:
        """Yield what requests cost at most, in per cent of the prices, for the model's parameters and then each kind's.

        With "auto", a worker repeats in the standard tier what the flex tier refuses.
        """
        own = self.parameters.get("service_tier")
        for asked in (own, *(kind.parameters.get("service_tier", own) for kind in self.kinds.values())):
            percent = tiers.get(asked, 100) if isinstance(asked, str) else 100
            yield max(percent, tiers.get(FLEX, 0)) if asked is None and self.service_tier == "auto" else percent


def _text_of(parameters: dict[str, JsonValue]) -> str:
    return json.dumps(parameters, sort_keys=True) if parameters else ""


class KindOfModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The properties of a model that differ for one kind of job."""

    headroom: int | None = None
    parameters: str = ""  # all parameters, those of the model included


class Model(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model in the form that a run stores."""

    name: str  # its name in jobs, journal and tiers
    model: str  # its endpoint's name for it
    endpoint: str = DEFAULT
    input_price: int = 0  # micro-dollars per million tokens
    cached_input_price: int = 0
    output_price: int = 0
    context: int = 0  # tokens; 0: unknown
    seed: int | None = None  # sent with each request; None: the endpoint chooses
    parameters: str = ""  # a JSON object: additional parameters of each request
    headroom: int = 0  # tokens for reasoning in addition to the answer
    reasons: bool = True  # whether prompts ask for reasons of actions and insights
    pack: Pack = "off"  # whether one request may ask about the jobs of several owners
    batch: Batch = "off"  # whether requests may go into batch files
    service_tier: ServiceTier = "standard"
    kinds: dict[str, KindOfModel] = msgspec.field(default_factory=dict)  # by kind of job
    percent: int = 100  # the highest cost of a request, in per cent of the prices
    priced: bool = True  # False: its prices are unknown and stored as 0
    service_tiers: dict[str, int] = msgspec.field(default_factory=dict)  # per cent of the prices that each tier costs

    def headroom_of(self, kind: str) -> int:
        """Return the tokens for reasoning in addition to an answer of this kind."""
        own = self.kinds.get(kind)
        return self.headroom if own is None or own.headroom is None else own.headroom

    def percent_of(self, service_tier: str) -> int:
        """Return the cost of a call, in per cent of the prices.

        Args:
            service_tier: the tier that served it, as the endpoint reports; if it is "" or unknown, the call costs as
                much as the dearest tier that the model's requests ask for.
        """
        return self.service_tiers.get(service_tier, 100 if service_tier == STANDARD else self.percent)

    def asked_by(self, kind: str) -> Model:
        """Return the model with its parameters for this kind."""
        own = self.kinds.get(kind)
        return self if own is None else msgspec.structs.replace(self, parameters=own.parameters)


def check_name(name: str) -> str:
    """Return the name of an endpoint or a model, checked.

    Raises:
        ValueError: if the name is invalid.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name[:80]!r} is not a name of an endpoint or a model: use lower-case letters, digits, '.', '_' or '-'"
        )
    return name


_PRICE_UNIT = 1_000_000  # prices are micro-dollars per million tokens


def call_cost(
    model: Model, prompt_tokens: int, output_tokens: int, cached: int = 0, calls: int = 1, percent: int = 100
) -> Cost:
    """Return the cost of one call, or of `calls` requests that together used these tokens.

    The price is rounded up, so that rounding never exceeds a limit.

    Args:
        prompt_tokens: all tokens of the prompt.
        output_tokens: all tokens of the answer, reasoning included.
        cached: how many of the prompt's tokens came from the provider's cache.
        percent: the price of the call's service tier, in per cent of the model's prices.
    """
    price = (
        (prompt_tokens - cached) * model.input_price
        + cached * model.cached_input_price
        + output_tokens * model.output_price
    )
    usd_micros = -(-price * percent // (100 * _PRICE_UNIT))
    return Cost(calls=calls, tokens=prompt_tokens + output_tokens, usd_micros=usd_micros)


def upper_bound(model: Model, prompt_cap: int, output_cap: int) -> Cost:
    """Return the upper bound of the cost of one attempt; admission and every further attempt reserve it.

    It assumes that no input is cached, or all of it if cached input costs more. A kind that never asks a model
    (`output_cap` 0) reserves nothing.
    """
    if output_cap == 0:
        return Cost()
    cached = prompt_cap if model.cached_input_price > model.input_price else 0
    return call_cost(model, prompt_cap, output_cap, cached, percent=model.percent)


def room_for_answer(model: Model, reserved: Cost, prompt_tokens: int) -> int:
    """Return the most tokens that an answer to this prompt may have without exceeding the reservation."""
    room = reserved.tokens - prompt_tokens
    if model.context:
        room = min(room, model.context - prompt_tokens)
    price = model.output_price * model.percent
    if price:
        prompt = prompt_tokens * max(model.input_price, model.cached_input_price) * model.percent
        room = min(room, (100 * _PRICE_UNIT * reserved.usd_micros - prompt) // price)
    return max(0, room)

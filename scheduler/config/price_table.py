"""The built-in table of prices, and the look-up of a model's price.

A vendor's endpoint has the vendor's prices. At another URL, such as a proxy's, a model has the price of the vendor that
lists its name, the highest if there are several; an operator whose endpoint charges other prices sets them. Some
vendors serve a delayed request at a part of the price: the table gives such a service tier in per cent of the prices.
"""

from __future__ import annotations

import os
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

_OPENAI = "https://api.openai.com/v1"  # the client's default base URL
_SNAPSHOT = re.compile(r"(?P<model>.+)-(?:\d{4}-\d{2}-\d{2}|\d{8})")  # "gpt-4o-2024-08-06", "claude-opus-4-20250514"

PriceOrigin = Literal["stated", "table", "unknown"]


class ListedPrice(NamedTuple):
    """A price of the table, in micro-dollars per million tokens."""

    input: int
    cached_input: int
    output: int
    as_of: str  # date, such as "2026-08-21"
    service_tiers: tuple[tuple[str, int], ...] = ()  # (name, per cent of these prices), without the standard tier


class ModelPrice(msgspec.Struct, frozen=True, kw_only=True):
    """The price at which a run counts a model's tokens, in micro-dollars per million, and its origin."""

    name: str  # of the model in the run
    model: str  # the endpoint's name for it
    origin: PriceOrigin
    input: int | None  # None: unknown
    cached_input: int | None
    output: int | None
    as_of: str = ""  # date of the table's price
    service_tiers: dict[str, int] = msgspec.field(default_factory=dict)  # per cent of the prices, from the table

    def described(self) -> str:
        """Describe the price: "gpt-4o: $2.5 and $10 per million tokens of prompt and answer (table of 2026-08-21)"."""
        if self.input is None or self.output is None:
            return f"{self.model}: no price is known"
        prices = f"${self.input / 1e6:,g} and ${self.output / 1e6:,g} per million tokens of prompt and answer"
        origin = f"table of {self.as_of}" if self.origin == "table" else "stated"
        tiers = "".join(f"; {percent}% of it in {tier}" for tier, percent in self.service_tiers.items())
        return f"{self.model}: {prices} ({origin}{tiers})"


def listed_price(model: str, base_url: str | None) -> ListedPrice | None:
    """Return the price of a model at this URL; None if the table does not list it.

    Args:
        base_url: the endpoint's URL; None: OPENAI_BASE_URL, else the client's default.
    """
    try:
        host = urlsplit(base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI).hostname
    except ValueError:  # an invalid URL, which the call reports
        return None
    table = _table()
    vendors = [table[host]] if host in table else list(table.values())
    snapshot = _SNAPSHOT.fullmatch(model)
    for name in (model, snapshot["model"]) if snapshot else (model,):
        if listed := [prices[name] for prices in vendors if name in prices]:
            return max(listed)
    return None


@cache
def _table() -> dict[str, dict[str, ListedPrice]]:
    """Return the prices by host and model."""
    text = files(__package__).joinpath("model_prices.toml").read_text(encoding="utf-8")
    return {
        host: {
            model: ListedPrice(prompt, cached, answer, vendor["as_of"], _service_tiers(vendor, model))
            for model, (prompt, cached, answer) in vendor["models"].items()
        }
        for vendor in tomllib.loads(text).values()
        for host in vendor["hosts"]
    }


def _service_tiers(vendor: dict[str, Any], model: str) -> tuple[tuple[str, int], ...]:
    tiers = vendor.get("service_tiers", {}).items()
    return tuple((name, tier["percent"]) for name, tier in tiers if model in tier.get("models", vendor["models"]))

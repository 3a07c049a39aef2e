"""The built-in table of prices, and how a run's model gets its price.

A vendor's endpoint has the vendor's prices. Behind another URL, such as a proxy's, a model has the price of the vendor
that lists its name, the dearest of several; an operator whose endpoint charges otherwise states its prices. Some
vendors serve a request later for a part of its price: the table has such a service tier in per cent of the prices.
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

_OPENAI = "https://api.openai.com/v1"  # where a client calls without a base URL
_SNAPSHOT = re.compile(r"(?P<model>.+)-(?:\d{4}-\d{2}-\d{2}|\d{8})")  # "gpt-4o-2024-08-06", "claude-opus-4-20250514"

PriceOrigin = Literal["stated", "table", "unknown"]


class ListedPrice(NamedTuple):
    """A price of the table, in micro-dollars per million tokens."""

    input: int
    cached_input: int
    output: int
    as_of: str  # date, such as "2026-08-21"
    service_tiers: tuple[tuple[str, int], ...] = ()  # name and per cent of these prices, without the standard one


class ModelPrice(msgspec.Struct, frozen=True, kw_only=True):
    """The price that a run counts a model's tokens at, in micro-dollars per million, and where it comes from."""

    name: str  # of the model in the run
    model: str  # its endpoint's name for it
    origin: PriceOrigin
    input: int | None  # None: it is not known
    cached_input: int | None
    output: int | None
    as_of: str = ""  # date of the table's price
    service_tiers: dict[str, int] = msgspec.field(default_factory=dict)  # per cent of the prices, from the table

    def described(self) -> str:
        """Return it in words: "gpt-4o: $2.5 and $10 per million tokens of prompt and answer (table of 2026-08-21)"."""
        if self.input is None or self.output is None:
            return f"{self.model}: no price is known"
        prices = f"${self.input / 1e6:,g} and ${self.output / 1e6:,g} per million tokens of prompt and answer"
        origin = f"table of {self.as_of}" if self.origin == "table" else "stated"
        tiers = "".join(f"; {percent}% of it in {tier}" for tier, percent in self.service_tiers.items())
        return f"{self.model}: {prices} ({origin}{tiers})"


def listed_price(model: str, base_url: str | None) -> ListedPrice | None:
    """Return the price of a model at this URL, if the table has it.

    Args:
        base_url: that of its endpoint; None: OPENAI_BASE_URL, else the default of the client.
    """
    try:
        host = urlsplit(base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI).hostname
    except ValueError:  # an invalid URL, which the call reports
        return None
    table = _table()
    vendors = [table[host]] if host in table else list(table.values())
    snapshot = _SNAPSHOT.fullmatch(model)
    for name in (model, snapshot["model"]) if snapshot else (model,):
        if found := [prices[name] for prices in vendors if name in prices]:
            return max(found)
    return None


@cache
def _table() -> dict[str, dict[str, ListedPrice]]:
    """Return the prices by host and model."""
    text = files(__package__).joinpath("model_prices.toml").read_text(encoding="utf-8")
    return {
        host: {
            model: ListedPrice(given, cached, written, vendor["as_of"], _service_tiers(vendor, model))
            for model, (given, cached, written) in vendor["models"].items()
        }
        for vendor in tomllib.loads(text).values()
        for host in vendor["hosts"]
    }


def _service_tiers(vendor: dict[str, Any], model: str) -> tuple[tuple[str, int], ...]:
    listed = vendor.get("service_tiers", {}).items()
    return tuple((name, one["percent"]) for name, one in listed if model in one.get("models", vendor["models"]))

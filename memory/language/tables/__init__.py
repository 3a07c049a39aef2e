"""Tables of words by language, as data: function words, and packs of phrases and words."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a table by its name, such as "life_events"; languages are keys, by ISO 639-1 code."""
    return tomllib.loads((resources.files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))

"""Tables of words by language, as data: function words, packs of phrases and words, English words for its rules."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a table by its name, such as "phrases"; keys are languages by ISO 639-1 code, or those of `english`."""
    return tomllib.loads((resources.files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))


def english(name: str) -> frozenset[str]:
    """Return a list of English words."""
    return frozenset(read_table("english")[name].split())

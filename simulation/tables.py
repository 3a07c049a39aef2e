"""Reads the simulation's tables of texts, TOML files beside its modules."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TypeVar

from cogitate.memory import typed_json

T = TypeVar("T")


def read_table(package: str | None, name: str, wanted: type[T]) -> T:
    """Return `name`.toml of a package as a value of a type."""
    text = (resources.files(str(package)) / f"{name}.toml").read_text(encoding="utf-8")
    return typed_json.convert(tomllib.loads(text), wanted)

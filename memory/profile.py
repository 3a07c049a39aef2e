"""Profiles of owners and the places of the world: a host gives them once, prompts and heuristics use them."""

from __future__ import annotations

import msgspec


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent's identity. Only `name` is required; prompts omit empty fields."""

    name: str
    age: int | None = None
    occupation: str = ""
    traits: tuple[str, ...] = ()
    background: str = ""  # what the agent has learned about itself
    currently: str = ""  # its current concern
    routine: str = ""  # sleep and habits in words, such as "goes to bed around 11pm"
    home: str = ""  # id of a location
    work: str = ""  # id of a location


class Location(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place of the world. `type` is free ("restaurant", "home"); tags such as "social" guide plans."""

    id: str
    name: str
    type: str = ""
    tags: tuple[str, ...] = ()

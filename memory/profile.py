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
    routine: str | tuple[str, ...] = ""  # habits ("07:00 breakfast @home"), one a line; "": the group's or the world's
    language: str = ""  # of its thoughts, an ISO 639 code ("fr"); "": the group's or the world's, or that of its texts
    group: str = ""  # an owner, such as "group:crew"
    home: str = ""  # id of a location
    work: str = ""  # id of a location
    weight: float = 1.0  # how much its thoughts matter to the host beside others', where calls are spent by value


class Location(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place of the world. `type` is free ("restaurant", "home"); a routine names a place by id, name, type or tag."""

    id: str
    name: str
    type: str = ""
    tags: tuple[str, ...] = ()
    activities: tuple[str, ...] = ()  # what is done there ("repair the hull"), the most usual first

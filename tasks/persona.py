"""The persona that a host stated, as every prompt of a kind that thinks shows it: the same words in the same place."""

from __future__ import annotations

from typing import Any

from cogitate.memory.profile import Profile
from cogitate.tasks.recall import brief


def persona(profile: Profile) -> dict[str, Any]:
    """Return the variables of a template that say who somebody is; long texts are cut."""
    return {
        "name": profile.name,
        "age": profile.age,
        "occupation": profile.occupation,
        "traits": profile.traits,
        "background": brief(profile.background),
        "currently": brief(profile.currently),
    }

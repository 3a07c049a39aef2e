"""The persona that a host gives an agent; every thinking kind's prompt shows it in the same words and place."""

from __future__ import annotations

from typing import Any

from cogitate.memory.profile import Profile
from cogitate.tasks.recall import brief


def persona(profile: Profile) -> dict[str, Any]:
    """Return the template variables of an agent's persona; long texts are cut."""
    return {
        "name": profile.name,
        "age": profile.age,
        "occupation": profile.occupation,
        "traits": profile.traits,
        "background": brief(profile.background),
        "currently": brief(profile.currently),
    }

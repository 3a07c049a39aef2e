"""The owners of a run that a name which none of them has may mean, and those that have it as their display name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from cogitate.memory.profile import Profile

_MOST = 3  # owners that an error names


def near_owners(name: str, owners: Iterable[str]) -> list[str]:
    """Return the owners whose name is nearly this one, the nearest first; with or without its scope, such as "agent:".

    A name that begins or ends an owner's name is near it as well.
    """
    known = sorted(owners)
    wanted = _bare(name)
    if not wanted:
        return []
    spelt = {owner: _bare(owner) for owner in known}
    close = get_close_matches(wanted, sorted(set(spelt.values())), _MOST, cutoff=0.7)
    part = [own for own in spelt.values() if own.startswith(wanted) or own.endswith(wanted) or wanted.startswith(own)]
    same_scope = name.partition(":")[0] if ":" in name else ""
    found = [owner for near in dict.fromkeys((*close, *part)) for owner in known if spelt[owner] == near]
    found.sort(key=lambda owner: same_scope != owner.partition(":")[0] if same_scope else False)
    return found[:_MOST]


def owner_called(name: str, profiles: Mapping[str, Profile]) -> str:
    """Return the only owner with this display name; "" where none or several have it."""
    called = [owner for owner, profile in profiles.items() if profile.name == name]
    return called[0] if len(called) == 1 else ""


def _bare(name: str) -> str:
    return name.rpartition(":")[2].strip().lower().replace(" ", "-").replace("_", "-")

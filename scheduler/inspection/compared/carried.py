"""List the changes of a tick to owners' streams and profiles, in the order of application, with their causes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.scheduler.inspection.compared.first_difference import describe_effect, describe_entry
from cogitate.scheduler.journal.lines import ReadLine


class Carried(NamedTuple):
    """One change of an owner's stream or profile, or one message of the owner to the world."""

    owner: str
    what: object  # the change itself, for comparison
    words: str
    by: str  # "observation", "boundary", "world", "profile", or the kind of a job
    through: str  # the job's owner; "" for other changes
    entry: Entry | None = None  # the observation


def profiles_of(line: ReadLine) -> Iterator[tuple[str, Profile]]:
    """Yield the new profiles of a tick, by owner."""
    yield from (*line.core.joined, *line.core.profiled)


def carried_by(line: ReadLine) -> Iterator[Carried]:
    """Yield every change of a tick, in the order of application."""
    core = line.core
    for owner, numbers in core.unread:
        yield Carried(owner, numbers, f"entries {list(numbers)} were unreadable", "boundary", "")
    for ended in core.ends:
        if ended.end == "applied":
            for effect in ended.effects:
                yield Carried(effect.owner, effect, describe_effect(effect), ended.key.kind, ended.key.owner)
    for owner, profile in core.joined:
        yield Carried(owner, profile, f"joined as {profile.name}", "profile", "")
    for owner, profile in core.profiled:
        yield Carried(owner, profile, f"the profile of {profile.name} was changed", "profile", "")
    for effect in core.world_effects:
        yield Carried(effect.owner, effect, describe_effect(effect), "world", "")
    for owner, entry in (*core.observed, *core.waiting):
        yield Carried(owner, entry, describe_entry(entry), "observation", "", entry)
    for repeat in core.repeated:
        yield Carried(repeat.owner, repeat, f"observed a repeat of entry {repeat.number}", "observation", "")
    for rated in core.rated:
        yield Carried(rated.owner, rated, f"entry {rated.number} was rated {rated.importance}", "boundary", "")
    for effect in core.cuts:
        yield Carried(effect.owner, effect, describe_effect(effect), "boundary", "")
    for owner, numbers in core.deleted:
        yield Carried(owner, numbers, f"entries {list(numbers)} were deleted", "boundary", "")
    for owner in core.left:
        yield Carried(owner, "left", "left", "world", "")

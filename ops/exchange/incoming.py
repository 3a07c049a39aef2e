"""The content of an imported file: owners with their memories, a count of invalid items, and parts of JSON."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import floor
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationError

from cogitate.memory import typed_json
from cogitate.memory.effects import Append, Effect
from cogitate.memory.entry import UNRATED, Entry
from cogitate.memory.errors import InputError, first_fault, quoted
from cogitate.memory.profile import Location, Profile
from cogitate.scheduler.intake.checks import check_owner, check_profile
from cogitate.scheduler.intake.effects import check_effect
from cogitate.simulation.naming import distinct, slug

Json = bytes | msgspec.Raw
Fields = dict[str, Json]


def fields_of(raw: Json, what: str) -> Fields:
    """Return the fields of a JSON object, undecoded.

    Raises:
        InputError: naming `what` and its value, if it is not a JSON object.
    """
    found: Fields = _of_type(raw, what, dict[str, msgspec.Raw], "an object")
    return found


def items_of(raw: Json, what: str) -> list[msgspec.Raw]:
    """Return the items of a JSON list, undecoded; for null, none.

    Raises:
        InputError: naming `what` and its value, if it is not a JSON list.
    """
    return _of_type(raw, what, list[msgspec.Raw] | None, "a list") or []


def is_object(raw: Json) -> bool:
    return bytes(memoryview(raw)[:1]) == b"{"


def string_in(value: object, field: str) -> str:
    """Return the text in a field of decoded JSON; "" if there is none."""
    text = value.get(field) if isinstance(value, dict) else None
    return text.strip() if isinstance(text, str) else ""


def _of_type(raw: Json, what: str, wanted: Any, name: str) -> Any:
    try:
        return typed_json.decode(raw, wanted)
    except msgspec.ValidationError as error:
        shown = bytes(raw).strip()[:80].decode(errors="replace")
        raise InputError(f"{what} is {quoted(shown)}: give {name} of JSON") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{what} is not valid JSON: {str(error)[:200]}") from error


def object_of(value: object, what: str) -> dict[str, Any]:
    """Return a decoded JSON object.

    Raises:
        InputError: naming `what` and the value, if it is not an object.
    """
    if not isinstance(value, dict):
        raise InputError(f"{what} is {quoted(value)}: give an object of JSON")
    return value


def list_in(value: dict[str, Any], field: str) -> list[Any]:
    """Return the list in a field of an object; an empty one if the field is missing or null.

    Raises:
        InputError: naming the field and its value, if it is not a list.
    """
    items = value.get(field)
    if items is not None and not isinstance(items, list):
        raise InputError(f"{field} is {quoted(items)}: give a list")
    return items or []


MAX_MEMORIES = 50_000  # of one file
MAX_FILE = 200_000_000  # bytes
MAX_NAMED = 20  # the most errors reported in full
_MOST_SLUG = 150  # characters of an owner's id that come from a name


@dataclass(kw_only=True)
class Incoming:
    """Owners and their checked memories, in the order in which the run appends them."""

    source: Path
    profiles: dict[str, Profile] = field(default_factory=dict)
    memories: dict[str, list[Entry]] = field(default_factory=dict)
    facts: list[Effect] = field(default_factory=list)  # summaries and characters of owners
    locations: tuple[Location, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)  # reason -> number of skipped items
    repaired: Counter[str] = field(default_factory=Counter)  # name -> number of repaired items
    faults: list[str] = field(default_factory=list)  # the first skipped items, each with its place and value
    valid: int = 0  # skipped items that are valid but have no place in a run

    def add_owner(self, owner: str, profile: Profile) -> None:
        """Add an owner; an existing one keeps its profile.

        Raises:
            InputError: for an invalid name or profile.
        """
        known = check_owner(owner)
        if known not in self.profiles:
            self.profiles[known] = check_profile(known, profile)
            self.memories[known] = []

    def add(self, owner: str, entry: Entry) -> None:
        """Add a memory of an owner.

        Raises:
            InputError: for values that no memory may have, and beyond the limit of a file.
        """
        if self.count >= MAX_MEMORIES:
            raise TooMany.of(self.source)
        checked = check_effect(Append(owner, entry))
        assert isinstance(checked, Append)
        self.memories[owner].append(checked.entry)

    def leave_out(self, reason: str, fault: str) -> None:
        """Count a skipped item, and keep the first faults for the report."""
        self.left_out[reason] += 1
        if len(self.faults) < MAX_NAMED:
            self.faults.append(fault)

    @contextmanager
    def reporting(self, reason: str, where: str) -> Iterator[None]:
        """Report and skip the item that the block reads, if it is invalid."""
        try:
            yield
        except TooMany:
            raise
        except ValidationError as error:
            self.leave_out(reason, f"{where}: {first_fault(error)}")
        except InputError as error:
            self.leave_out(reason, f"{where}: {error}")

    def pass_over(self, reason: str, count: int = 1) -> None:
        """Count valid items that have no place in a run."""
        if count:
            self.left_out[reason] += count
            self.valid += count

    def importance(self, value: object, least: int, most: int) -> int:
        """Convert a rating from another scale to 1 to 10, and count a repair if it is invalid; 0 if there is none."""
        if value is None:
            return UNRATED
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.repaired["importance"] += 1
            return UNRATED
        within = min(max(value, least), most)
        if within != value:
            self.repaired["importance"] += 1
        return 1 + floor(9 * (within - least) / (most - least) + 0.5)

    def check_usable(self) -> None:
        """Check that the file has at least one memory.

        Raises:
            InputError: naming the first error or, without an error, the items left out.
        """
        if not self.count:
            why = f"; the first fault: {self.faults[0]}" if self.faults else ""
            if self.left_out and not why:
                why = f" among what an import reads; left out: {self.counted_out}"
            raise InputError(f"{self.source}: it has no valid memory{why}")

    @property
    def counted_out(self) -> str:
        """Return the number of items left out of each kind, in words."""
        return ", ".join(f"{name}: {count:,}" for name, count in sorted(self.left_out.items()))

    @property
    def count(self) -> int:
        return sum(map(len, self.memories.values()))

    @property
    def last_minute(self) -> int:
        """Return the game time of the latest memory."""
        return max((entry.minute for entries in self.memories.values() for entry in entries), default=0)

    @property
    def most(self) -> Counter[str]:
        """Return the most entries of each type that one owner remembers."""
        most: Counter[str] = Counter()
        for entries in self.memories.values():
            most |= Counter(entry.type for entry in entries)
        return most

    def effects(self) -> Iterable[Effect]:
        """Yield the effects that append the memories."""
        for owner, entries in self.memories.items():
            for entry in entries:
                yield Append(owner, entry)
        yield from self.facts


class TooMany(InputError):
    """A file exceeds the limits of one run. Split it."""

    @classmethod
    def of(cls, source: Path) -> TooMany:
        """Return the error for a file with too many memories."""
        return cls(f"{source}: it holds more than {MAX_MEMORIES:,} memories: split it into several runs")


def owner_named(name: str) -> tuple[str, Profile]:
    """Return the owner and the profile for an owner's id, such as "agent:ada", or a person's name.

    Raises:
        InputError: for a name without a usable id.
    """
    scope, colon, rest = name.partition(":")
    if colon or name == "world":
        owner = check_owner(name)
        called = (rest or scope).replace("-", " ").replace("_", " ").strip().title()
        return owner, Profile(name=called[:200] or owner)
    short = slug(name)
    if not short:
        raise InputError(f"owner {name[:80]!a}: it gives no id; write it as 'agent:NAME' in ASCII letters")
    return check_owner(f"agent:{short}"), Profile(name=name.strip())


def owners_named(names: Iterable[str]) -> list[str]:
    """Return a different id for each name, even for equal names and names without a Latin letter."""
    return [f"agent:{short}" for short in distinct([slug(name)[:_MOST_SLUG] for name in names], "agent")]


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Name a file in the errors of the block that reads it."""
    try:
        yield
    except InputError as error:
        if str(file) in str(error):
            raise
        raise InputError(f"{file}: {error}") from error


def read_bytes(file: Path) -> bytes:
    """Return a file's bytes, without a byte order mark.

    Raises:
        InputError: when it is too large or cannot be read.
    """
    try:
        size = file.stat().st_size
        if size > MAX_FILE:
            raise InputError(f"{file}: it has {size:,} bytes, at most {MAX_FILE:,} are read: split it")
        return file.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error


def decode_json(raw: bytes | msgspec.Raw) -> object:
    """Return the value of JSON text; refuse NaN, infinities and lone surrogates.

    Raises:
        InputError: naming the fault.
    """
    try:
        return typed_json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not valid JSON: {str(error)[:200]}") from error

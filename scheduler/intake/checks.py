"""Validate a host's input: owners, places and requests, before they change any state.

Each check raises `InputError`, whose message names the value, its fault and a remedy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import TypeVar

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.checks import MAX_LABEL as MAX_LABEL
from cogitate.memory.checks import MAX_NAMES as MAX_NAMES
from cogitate.memory.checks import check_integer as check_integer
from cogitate.memory.checks import check_text as check_text
from cogitate.memory.checks import check_texts as check_texts
from cogitate.memory.errors import InputError as InputError
from cogitate.memory.errors import quoted, text_of
from cogitate.memory.host_code import Raised, captured
from cogitate.memory.language.hidden_characters import is_blank
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routines import check_routine
from cogitate.tasks.job import Reads, Request
from cogitate.tasks.kind import Kind
from cogitate.tasks.meters import Meter

MAX_OWNER = 200  # characters
MAX_TOLD = 20_000  # characters of one field of a profile
MAX_LOCATIONS = 10_000
MAX_PARAMS = 20_000  # bytes of JSON
MAX_DEPTH = 50  # levels of nesting
MAX_NUMBERS = 10_000  # entries that a request may read
MAX_PRIORITY = 1_000_000
MAX_WEIGHT = 1_000
MAX_WITHIN = 1_000_000  # ticks
MAX_MINUTE = 1_000_000_000_000  # of game time, at tick 0: two million years
MAX_INTEGER = 2**53 - 1  # the largest integer that every reader of JSON holds exactly
_SCOPES = ("agent", "npc", "location", "group", "world")
# An owner's name must not contain terminal control characters, characters that reverse or hide the text around them, or
# lone surrogates. Texts may contain those that their script needs (`cogitate.memory.language.hidden_characters`).
_HIDDEN = re.compile(  # without the joiners U+200C and U+200D, which Persian, Hindi and emoji need
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_LANGUAGE = re.compile("[a-z]{2,3}")
_REASON = 300  # characters
_MOST_NEAR = 3  # owners that an error names

T = TypeVar("T", bound=msgspec.Struct)


# -- single values -------------------------------------------------------------------------------------


def as_read(what: object, value: object, wanted: type[T]) -> T:
    """Return a value as the journal and the workers decode it, so all processes hold the same value."""
    try:
        decoded: T = typed_json.decode(encode(value), wanted)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{what}: {reason(error)}") from None  # the library's own message may quote the input
    return decoded


def _plain(value: object) -> object:
    """Return the plain string or number of a value whose class derives from it, such as an enumeration."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


encode = msgspec.json.Encoder(enc_hook=_plain).encode


def reason(error: BaseException) -> str:
    """Return an error's message, shortened and in ASCII, because logs and terminals cannot show a lone surrogate."""
    return text_of(error, "ascii", "backslashreplace")[:_REASON]


def depth(value: object) -> int:
    """Return the depth of nested JSON values, computed without recursion."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return depth


# -- owners and places ---------------------------------------------------------------------------------


def check_owner(owner: object) -> str:
    """Return an owner's name after validating it: "<scope>:<name>", or "world".

    A "}" ends the part of a key that names the run. In an owner's name it could turn the key of a memory into that of a
    job, which workers may write.
    """
    if not isinstance(owner, str):
        raise InputError(f"{quoted(owner)} is not an owner: give a string such as 'agent:ada'")
    scope, colon, name = owner.partition(":")
    fits = scope in _SCOPES and (not is_blank(name) if colon else scope == "world")
    if not fits or len(owner) > MAX_OWNER or "}" in owner or _HIDDEN.search(owner):
        raise InputError(
            f"{quoted(owner)} is not an owner: use <scope>:<name> with a scope of {', '.join(_SCOPES)}, "
            f"at most {MAX_OWNER} characters, and neither }} nor an invisible character"
        )
    return str.__str__(owner)


def check_profile(owner: str, profile: object) -> Profile:
    what = f"profile of {quoted(owner)}"
    if not isinstance(profile, Profile):
        raise InputError(f"{what} is {quoted(profile)}: give a Profile(name=…)")
    checked = as_read(what, profile, Profile)
    check_text(f"{what}: name", checked.name, MAX_LABEL)
    if checked.age is not None:
        check_integer(f"{what}: age", checked.age, 0, MAX_INTEGER)
    for field in ("occupation", "background", "currently", "home", "work"):
        check_text(f"{what}: {field}", getattr(checked, field), MAX_TOLD, blank=True)
    check_texts(f"{what}: traits", checked.traits, most=MAX_TOLD)
    habits = (checked.routine,) if isinstance(checked.routine, str) else checked.routine
    for habit in habits:
        check_text(f"{what}: routine", habit, MAX_TOLD, blank=True)
    try:
        check_routine(checked.routine)
    except ValueError as error:
        raise InputError(f"{what}: routine: {reason(error)}") from None
    if checked.language and not _LANGUAGE.fullmatch(checked.language):
        raise InputError(f"{what}: language is {quoted(checked.language)}: give an ISO 639 code such as 'fr'")
    if checked.group:
        check_owner(checked.group)
    if not 0 <= checked.weight <= MAX_WEIGHT:  # false for NaN too
        raise InputError(f"{what}: weight is {quoted(checked.weight)}: give a number from 0 to {MAX_WEIGHT}")
    return typed_json.with_shared_defaults(checked)


def check_locations(locations: object) -> tuple[Location, ...]:
    """Return the places that plans may name, after validating them."""
    checked: dict[str, Location] = {}
    for number, location in enumerate(_listed("locations", locations, "Location(id=…, name=…)", MAX_LOCATIONS), 1):
        what = f"location {number}"
        if not isinstance(location, Location):
            raise InputError(f"{what} is {quoted(location)}: give a Location(id=…, name=…)")
        place = as_read(what, location, Location)
        check_text(f"{what}: id", place.id, MAX_LABEL)
        check_text(f"{what}: name", place.name, MAX_LABEL)
        check_text(f"{what}: type", place.type, MAX_LABEL, blank=True)
        check_texts(f"{what}: tags", place.tags)
        check_texts(f"{what}: activities", place.activities)
        if place.id in checked:
            raise InputError(f"{what} has the id {quoted(place.id)} of another: give each a unique id")
        checked[place.id] = place
    return tuple(checked.values())


# -- requests ------------------------------------------------------------------------------------------


def check_request(request: Request, kinds: Iterable[str]) -> Request:
    """Return a valid copy of a request for admission."""
    known = list(kinds)
    if not isinstance(request.kind, str) or request.kind not in known:
        raise InputError(f"there is no kind {quoted(request.kind)}; there are {', '.join(known)}")
    return check_request_of(str.__str__(request.kind), check_owner(request.owner), request)


def check_request_of(kind: str, owner: str, request: Request, most: int = MAX_PARAMS) -> Request:
    """Return a valid copy of a request, like `check_request`, for a kind and an owner that are already checked."""
    what = _Asked(kind, owner)
    checked = Request(
        kind=kind,
        owner=owner,
        trial=_integer(what, "trial", request.trial, 0, 0),
        priority=_integer(what, "priority", request.priority, -MAX_PRIORITY, MAX_PRIORITY),
        numbers=_numbers(what, request.numbers),
        reads=_reads(what, request.reads),
        params=_params(what, request.params, most),
        at=_integer(what, "at", request.at, 0, MAX_INTEGER),
        within=_integer(what, "within", request.within, 0, MAX_WITHIN),
    )
    return as_read(what, checked, Request) if checked.params else checked


def check_within(ticks: object) -> int:
    """Return the ticks within which a result is needed, after validating them; 0 for None."""
    return 0 if ticks is None else check_integer("within", ticks, 1, MAX_WITHIN)


def check_params(request: Request, kind: Kind) -> None:
    """Check that a kind accepts the parameters of a host's request."""
    if kind.params is None:
        return
    made = captured(typed_json.convert, request.params, kind.params)
    if type(made) is Raised:  # its __post_init__ may raise anything
        error = made.error
        what, names = f"{kind.name} for {quoted(request.owner)}", ", ".join(kind.params.__struct_fields__) or "none"
        raise InputError(f"{what}: params {quoted(request.params)}: {reason(error)}; {kind.name} takes {names}") from (
            None if isinstance(error, msgspec.ValidationError) else error
        )


def _listed(what: str, values: object, of: str, most: int) -> tuple[object, ...]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{what} are {quoted(values)}: give a list of {of}")
    listed = tuple(islice(values, most + 1))
    if len(listed) > most:
        raise InputError(f"{what} are more than {most:,}")
    return listed


class _Asked(msgspec.Struct):
    """The subject of an error message, formatted only when an error occurs."""

    kind: str
    owner: str

    def __str__(self) -> str:
        return f"{self.kind} for {quoted(self.owner)}"


def _integer(what: _Asked, name: str, value: object, least: int, most: int) -> int:
    if type(value) is int and least <= value <= most:
        return value
    return check_integer(f"{what}: {name}", value, least, most)


def _numbers(what: object, numbers: object) -> tuple[int, ...] | None:
    if numbers is None:
        return None
    listed = _listed(f"{what}: numbers", numbers, "entry numbers (1, 2, 3, …)", MAX_NUMBERS)
    return tuple(check_integer(f"{what}: one of numbers", number, 1, MAX_INTEGER) for number in listed)


def _reads(what: _Asked, reads: object) -> tuple[Reads, ...]:
    if type(reads) is tuple and not reads:
        return ()
    listed = _listed(f"{what}: reads", reads, "Reads(owner, upto)", MAX_NAMES)
    return tuple(_one_read(f"{what}: one of reads", item) for item in listed)


def _one_read(what: str, read: object) -> Reads:
    if not isinstance(read, Reads):
        raise InputError(f"{what} is {quoted(read)}: give a Reads(owner, upto)")
    upto = check_integer(f"{what}: upto", read.upto, 0, MAX_INTEGER)
    return Reads(check_owner(read.owner), upto, _numbers(what, read.numbers))


def _params(what: _Asked, params: object, most: int) -> dict[str, object]:
    if type(params) is dict and not params:
        return {}
    if not isinstance(params, Mapping):
        raise InputError(f"{what}: params are {quoted(params)}: give a JSON object, such as a dict")
    try:
        text = json.dumps(dict(params), allow_nan=False, default=_as_json)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{what}: params must be JSON values: {reason(error)}") from None
    if len(text) > most:
        raise InputError(f"{what}: params have {len(text):,} bytes, at most {most:,} fit")
    decoded: dict[str, object] = json.loads(text)
    if (deep := depth(decoded)) > MAX_DEPTH:
        raise InputError(f"{what}: params are nested {deep} deep, at most {MAX_DEPTH}")
    return decoded


def _as_json(value: object) -> object:
    """Return a meter as the JSON object that hosts in other languages send."""
    if isinstance(value, Meter):
        return msgspec.to_builtins(value)
    raise TypeError(f"an object of type {type(value).__name__} is not JSON")


def near_owners(name: str, owners: Iterable[str]) -> list[str]:
    """Return the owners whose names resemble this one, the closest first.

    The name may lack its scope, such as "agent:". A name that begins or ends an owner's name resembles it too.
    """
    known = sorted(owners)
    wanted = _bare(name)
    if not wanted:
        return []
    spelt = {owner: _bare(owner) for owner in known}
    close = get_close_matches(wanted, sorted(set(spelt.values())), _MOST_NEAR, cutoff=0.7)
    part = [own for own in spelt.values() if own.startswith(wanted) or own.endswith(wanted) or wanted.startswith(own)]
    same_scope = name.partition(":")[0] if ":" in name else ""
    matching = [owner for near in dict.fromkeys((*close, *part)) for owner in known if spelt[owner] == near]
    matching.sort(key=lambda owner: same_scope != owner.partition(":")[0] if same_scope else False)
    return matching[:_MOST_NEAR]


def owner_called(name: str, profiles: Mapping[str, Profile]) -> str:
    """Return the only owner with this display name; "" if none or several have it."""
    called = [owner for owner, profile in profiles.items() if profile.name == name]
    return called[0] if len(called) == 1 else ""


def _bare(name: str) -> str:
    return name.rpartition(":")[2].strip().lower().replace(" ", "-").replace("_", "-")

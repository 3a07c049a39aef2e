"""Validate what two host callbacks return: `brief(owner)` and `tier_of(request, moment)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches

import msgspec
import structlog

from cogitate.memory import typed_json
from cogitate.memory.entry import MAX_TEXT
from cogitate.memory.errors import InputError, quoted
from cogitate.memory.host_code import Raised, captured
from cogitate.scheduler.config.tiers import TIERS, Tier, TierRule
from cogitate.scheduler.intake.checks import MAX_LABEL, MAX_NAMES, check_text, check_texts, reason
from cogitate.tasks.job import Request
from cogitate.tasks.kind import Kind, Moment
from cogitate.tasks.meters import Meter, is_reading, read_meters

log = structlog.get_logger()

Brief = Callable[[str], Mapping[str, object]]

MAX_WARNED = 20  # meters to warn about
#: Keys that built-in kinds and worlds read. A custom kind lists more in its `brief_keys`.
KEYS = ("location", "activity", "condition", "status", "free", "near", "actions")


def checked_brief(brief: Brief, kinds: Iterable[Kind]) -> Brief:
    """Wrap the host's `brief` so that each result is validated.

    Raises:
        InputError: from the returned function, naming the owner and the invalid value, or the error that `brief`
            raised.
    """
    if brief is no_brief:
        return brief
    known, warned = brief_keys(kinds), set[str]()

    def brief_of(owner: str) -> Mapping[str, object]:
        result = captured(brief, owner)
        if type(result) is Raised:
            others = "" if owner.startswith("agent:") else "; return {} for an owner without a present state"
            raise InputError(_failed(f"the host's brief({owner!a})", result.error) + others) from result.error
        checked = check_brief(owner, result, known)
        _warn_of_meters(checked.get("status"), warned)
        return checked

    return brief_of


def brief_keys(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """Return the brief keys that worlds and these kinds read."""
    extra = [key for kind in kinds for key in kind.brief_keys]
    return tuple(dict.fromkeys((*KEYS, *extra)))


def no_brief(owner: str) -> Mapping[str, object]:
    """Return an empty brief, for a host without one."""
    return {}


def check_brief(owner: str, brief: object, known: Iterable[str] = KEYS) -> Mapping[str, object]:
    """Return a host's brief of an owner after validating it."""
    what, keys = f"brief({owner!a})", list(known)
    if not isinstance(brief, Mapping):
        raise InputError(f"{what} is {quoted(brief)}: give a dict such as {{'location': …, 'status': {{…}}}}")
    for key in brief:
        if key not in keys:
            near = "".join(f"; did you mean {close!r}?" for close in get_close_matches(str(key)[:MAX_LABEL], keys, 1))
            raise InputError(f"{what} has the unknown key {quoted(key)}; known keys: {', '.join(keys)}{near}")
    for key, most in (("location", MAX_LABEL), ("activity", MAX_TEXT), ("condition", MAX_LABEL)):
        if brief.get(key) is not None:
            check_text(f"{what}: {key}", brief[key], most, blank=True)
    if not isinstance(brief.get("free", False), bool):
        raise InputError(f"{what}: free is {quoted(brief['free'])}: give True or False")
    for key in ("near", "actions"):
        if brief.get(key) is not None:
            check_texts(f"{what}: {key}", brief[key])
    if brief.get("status") is not None:
        _check_status(f"{what}: status", brief["status"])
    return brief


def checked_tier(tier_of: TierRule) -> TierRule:
    """Wrap the host's `tier_of` so that each result is validated.

    Raises:
        InputError: from the returned function, naming the invalid result, or the error that `tier_of` raised.
    """

    def tier(request: Request, moment: Moment) -> Tier:
        what = f"the host's tier_of for a {request.kind} of {request.owner!a}"
        result = captured(tier_of, request, moment)
        if type(result) is Raised:
            raise InputError(_failed(what, result.error)) from result.error
        if not isinstance(result, str) or result not in TIERS:
            raise InputError(f"{what} returned {quoted(result)}: return 'routine' or 'strong'")
        return result

    return tier


def _failed(what: str, error: BaseException) -> str:
    return f"{what} failed: {type(error).__name__}: {reason(error)}"


def _check_status(what: str, status: object) -> None:
    if not isinstance(status, Mapping) or len(status) > MAX_NAMES:
        raise InputError(f"{what} is {quoted(status)}: give a dict of meters such as {{'energy': 80}}")
    for name, value in status.items():
        check_text(f"{what}: a meter's name", name, MAX_LABEL)
        check_meter(f"{what}: {name}", value)


def check_meter(what: str, value: object) -> None:
    """Check a meter of a brief: a number, a `Meter`, or a mapping of its fields."""
    if isinstance(value, Mapping):
        try:
            typed_json.convert(dict(value), Meter)
        except (msgspec.ValidationError, ValueError) as error:
            fields = ", ".join(Meter.__struct_fields__)
            raise InputError(f"{what} is {quoted(value)}: {reason(error)}; a meter takes {fields}") from error
    elif not isinstance(value, Meter) and not is_reading(value):
        raise InputError(
            f"{what} is {quoted(value)}: give a number, or a Meter that explains it, such as "
            "Meter(95, low='sated', high='starving', need='high')"
        )


def _warn_of_meters(status: object, warned: set[str]) -> None:
    """Warn once about each meter whose `low` and `high` are empty."""
    for name, meter in read_meters(status).items() if isinstance(status, Mapping) else ():
        if not meter.means_something and name not in warned and len(warned) < MAX_WARNED:
            warned.add(name)
            log.warning("brief.meter_without_meaning", meter=quoted(name), do="give a Meter with low and high")

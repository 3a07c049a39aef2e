"""JSON Lines: one memory per line, or one owner's whole stream per line, as `cogitate export` writes it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, model_validator

from cogitate.memory import typed_json
from cogitate.memory.effects import ReplaceSummary, SetCharacter
from cogitate.memory.entry import Character, Entry, PlanItem
from cogitate.memory.errors import InputError
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import load
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import unreadable
from cogitate.ops.exchange.incoming import Incoming, decode_json, owner_named, read_bytes
from cogitate.scheduler.intake.checks import MAX_OWNER, check_profile
from cogitate.scheduler.intake.effects import check_effect
from cogitate.scheduler.intake.observations import ObservationFields, Text

MAX_LINE = 50_000_000  # bytes; a stream is one line


class MemoryLine(ObservationFields):
    """A line with one memory: the fields of an observation and its owner.

    A line may give `time`, as in 2023-02-13T08:30, instead of `minute`; the first day in the file is then day 0.
    """

    owner: Text = Field(min_length=1, max_length=MAX_OWNER)


class _Profiled(msgspec.Struct, frozen=True):
    """The profile on a line, unchecked."""

    profile: msgspec.Raw = msgspec.Raw(b"null")


class _Time(BaseModel):
    """The time on a line without a minute."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    time: datetime

    @model_validator(mode="before")
    @classmethod
    def _only_text(cls, given: Any) -> Any:
        if isinstance(given, dict) and not isinstance(given.get("time"), str):
            raise ValueError("give a date and time such as '2023-02-13T08:30'")
        return given


def read_jsonl(file: Path) -> Incoming:
    """Return the memories in the lines of a file; invalid lines are skipped and reported by number.

    Raises:
        InputError: when the file is unreadable, too large, or has no valid memory.
    """
    content = Incoming(source=file)
    memories: list[tuple[int, dict[str, Any], datetime | None]] = []
    for number, raw in enumerate(read_bytes(file).split(b"\n"), 1):
        if not raw.strip():
            continue
        with content.reporting("line", f"line {number}"):
            if len(raw) > MAX_LINE:
                raise InputError(f"it has {len(raw):,} bytes, at most {MAX_LINE:,} fit")
            value = decode_json(raw)
            if not isinstance(value, dict):
                raise InputError(f'it is {str(value)[:80]!a}: give an object such as {{"owner": …, "text": …}}')
            if "entries" in value:
                _take_stream(content, raw, number)
            else:
                memories.append((number, value, _time(value)))
    _take_memories(content, memories)
    content.check_usable()
    return content


def _time(value: dict[str, Any]) -> datetime | None:
    if "time" not in value:
        return None
    if "minute" in value:
        raise InputError("it has a minute and a time: give one of them")
    return _Time.model_validate(value).time.replace(tzinfo=None)


def _take_memories(content: Incoming, lines: list[tuple[int, dict[str, Any], datetime | None]]) -> None:
    """Add single memories in order of game time; those of the same minute stay in the order of the file."""
    first = min((time for _, _, time in lines if time is not None), default=datetime(1, 1, 1))  # noqa: DTZ001
    day_0 = first.replace(hour=0, minute=0, second=0, microsecond=0)
    checked: list[tuple[int, int, MemoryLine]] = []
    for number, value, time in lines:
        with content.reporting("line", f"line {number}"):
            fields = {name: part for name, part in value.items() if name != "time"}
            if time is not None:
                fields["minute"] = (time - day_0) // timedelta(minutes=1)
            line = MemoryLine.model_validate(fields)
            checked.append((line.minute, number, line))
    for _, number, line in sorted(checked, key=lambda one: one[:2]):
        with content.reporting("line", f"line {number}"):
            owner, profile = owner_named(line.owner)
            entry = Entry(**line.model_dump(exclude={"owner"}))
            content.add_owner(owner, profile)
            content.add(owner, entry)


def _take_stream(content: Incoming, raw: bytes, number: int) -> None:
    """Add the content of an exported stream: its live and waiting entries, and the facts of its head."""
    try:
        stream = load(raw)
    except ValueError as error:
        raise InputError(str(error)) from error
    owner, named = owner_named(stream.owner)
    if content.memories.get(owner):
        raise InputError(f"owner {owner!a} has a line before this one: give each stream once")
    content.add_owner(owner, _profile(content, raw, number, owner) or named)
    broken = {one.number: one.why for one in unreadable([stream])}
    for bad, why in broken.items():
        content.leave_out("unreadable entry", f"line {number}: entry {bad} of {owner}: {why}")
    if stream.archived:
        content.left_out["archived entry"] += len(stream.archived)
    live = [entry for n, entry in stream.entries.items() if stream.is_live(n) and n not in broken]
    renumbered = {entry.number: index for index, entry in enumerate(live, 1)}
    for entry in [*live, *stream.head.waiting]:
        content.add(owner, _unnumbered(entry, renumbered, stream))
    if stream.head.summary:
        content.facts.append(check_effect(ReplaceSummary(owner, stream.head.summary, 0)))
    if stream.head.character != Character():
        content.facts.append(check_effect(SetCharacter(owner, stream.head.character)))


def _profile(content: Incoming, raw: bytes, number: int, owner: str) -> Profile | None:
    """Return the profile of a line, if valid; an invalid profile does not affect the memories."""
    try:
        profile = typed_json.decode(typed_json.decode(raw, _Profiled).profile, Profile | None)
        return None if profile is None else check_profile(owner, profile)
    except (msgspec.ValidationError, InputError) as error:
        fault = str(error) if isinstance(error, InputError) else f"profile of {owner!a}: {error}"
        content.leave_out("profile", f"line {number}: {fault}")
        return None


def _unnumbered(entry: Entry, renumbered: dict[int, int], stream: Stream) -> Entry:
    """Return an entry for the new run, with new numbers of its evidence and the present status of its items."""
    status = stream.head.plan_status
    items: tuple[PlanItem, ...] = tuple(
        msgspec.structs.replace(item, status=status.get(item.id, item.status)) for item in entry.items
    )
    return msgspec.structs.replace(
        entry,
        number=0,
        tick=0,
        rated=0,
        items=items,
        provisional=False,
        since_number=None,
        evidence=tuple(renumbered[n] for n in entry.evidence if n in renumbered),
    )

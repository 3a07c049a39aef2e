"""Dialogues in LoCoMo's format: sessions of turns between two speakers, each with a time.

A file holds a conversation, a sample around it, or a list of samples. Both speakers remember every turn.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError, quoted
from cogitate.ops.exchange.incoming import Incoming, decode_json, naming, owner_named, read_bytes
from cogitate.scheduler.intake.observations import Short, Text

_SESSION = re.compile(r"session_(0|[1-9][0-9]{0,5})")
_TIMES = ("%I:%M %p on %d %B, %Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M")


class _Turn(BaseModel):
    """A turn of a dialogue; other fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    speaker: Text = Field(min_length=1, max_length=190)
    text: Text = ""
    dia_id: Short = ""
    blip_caption: Text = ""  # the caption of a shared picture


def read_dialogue(file: Path, sample: str | None = None) -> Incoming:
    """Return the memories of a conversation's speakers; invalid turns are skipped and reported.

    Args:
        sample: id of the conversation, if the file has several.

    Raises:
        InputError: when the file is invalid, or `sample` names none of its several conversations.
    """
    with naming(file):
        data = decode_json(read_bytes(file))
    conversation = _conversation(file, data, sample)
    content = Incoming(source=file)
    sessions = _sessions(content, conversation)
    if not sessions:
        raise InputError(
            f"{file}: it has no session with turns and a time, such as session_1 and session_1_date_time; if it has "
            "another format, give --format"
        )
    speakers = {name: owner_named(name) for name in _speakers(sessions)}
    for owner, profile in speakers.values():
        content.add_owner(owner, profile)
    owners = tuple(content.profiles)
    day_0 = min(time for time, _, _ in sessions).replace(hour=0, minute=0, second=0)
    for time, key, turns in sessions:
        minute = (time - day_0) // timedelta(minutes=1)
        for number, raw in enumerate(turns, 1):
            with content.reporting("turn", f"{key}, turn {number}"):
                entry = _entry(_Turn.model_validate(raw), key, minute, owners)
                for owner in owners:
                    content.add(owner, entry)
    content.check_usable()
    return content


def _conversation(file: Path, data: object, sample: str | None) -> dict[str, Any]:
    samples = data if isinstance(data, list) else [data]
    named: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(samples, 1):
        inner = one.get("conversation", one) if isinstance(one, dict) else None
        if not isinstance(inner, dict):
            raise InputError(
                f"{file}: sample {number} is {quoted(one)}: give a conversation of sessions, as LoCoMo has"
            )
        named[str(one.get("sample_id", number))] = inner
    if sample is None and len(named) == 1:
        return next(iter(named.values()))
    if sample not in named:
        known = ", ".join(list(named)[:20]) or "none"
        asked = f"unknown conversation {sample!a}" if sample is not None else f"it holds {len(named)} conversations"
        raise InputError(f"{file}: {asked}; name one with --sample: {known}")
    return named[sample]


def _sessions(content: Incoming, conversation: dict[str, Any]) -> list[tuple[datetime, str, list[Any]]]:
    """Return the sessions with their times, in order of time."""
    sessions = []
    for key, turns in conversation.items():
        if not _SESSION.fullmatch(key):
            continue
        if not isinstance(turns, list):
            content.leave_out("session", f"{key} is {quoted(turns)}: give a list of turns")
            continue
        given = conversation.get(f"{key}_date_time")
        time = _time(given)
        if time is None:
            fault = f"{key}_date_time is {quoted(given)}: give a time such as '1:56 pm on 8 May, 2023'"
            content.leave_out("session", f"{fault}; {len(turns)} turns are left out with it")
            continue
        sessions.append((time, key, turns))
    return sorted(sessions, key=lambda one: (one[0], int(one[1].removeprefix("session_"))))


def _time(value: object) -> datetime | None:
    for form in _TIMES:
        try:
            return datetime.strptime(value, form) if isinstance(value, str) else None  # noqa: DTZ007 - game time
        except ValueError:
            continue
    return None


def _speakers(sessions: list[tuple[datetime, str, list[Any]]]) -> list[str]:
    """Return the names of the speakers, in order of their first turns."""
    names = [turn.get("speaker") for _, _, turns in sessions for turn in turns if isinstance(turn, dict)]
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and 0 < len(name) <= 190))


def _entry(turn: _Turn, session: str, minute: int, owners: tuple[str, ...]) -> Entry:
    words = turn.text.strip()
    if turn.blip_caption.strip():
        words = f"{words} (shows {turn.blip_caption.strip()})".strip()
    if not words:
        raise InputError("it has neither a text nor a caption: give one")
    return Entry(
        type="message",
        text=f"{turn.speaker.strip()}: {words}",
        minute=minute,
        subjects=owners,
        source="dialogue",
        source_id=session,
        tags=(turn.dia_id,) if turn.dia_id else (),
    )

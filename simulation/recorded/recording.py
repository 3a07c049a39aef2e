"""Reads recorded runs in the Generative Agents format, whose files often have faults.

Layout: `meta.json` (or `reverie/meta.json`) and, for each persona, `personas/NAME/bootstrap_memory/scratch.json` and
`…/associative_memory/nodes.json`. A missing or unreadable file is an error that names it; an invalid record is refused
or repaired and counted in `Recording.warnings`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cogitate.memory.entry import MAX_TEXT
from cogitate.scheduler.intake.checks import InputError, check_owner
from cogitate.simulation.recorded.files import METAS, RecordingFiles, of_persona
from cogitate.simulation.recorded.files import RecordingError as RecordingError
from cogitate.simulation.recorded.nodes import Node, RefusedNode, read_nodes, sound_text

DATES = ("%B %d, %Y", "%B %d, %Y, %H:%M:%S", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S")
DAY_MINUTES = 1440


def _date(value: Any) -> datetime:
    for form in DATES:
        try:
            return datetime.strptime(str(value), form)  # noqa: DTZ007 - game time has no zone
        except ValueError:
            continue
    raise ValueError(f"{str(value)[:80]!r} is not a date such as 'February 13, 2023'")


def _text(value: Any) -> str:
    """Return a storable text; "" for anything else, since identities may be missing."""
    return sound_text(value)[0][:MAX_TEXT] if isinstance(value, str) else ""


def _age(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1000 else None


def _schedule(value: Any) -> list[tuple[str, int]]:
    """Return the valid lines of a schedule: a text and a length in minutes."""
    lines = value if isinstance(value, list) else []
    return [
        (_text(line[0]), line[1])
        for line in lines
        if isinstance(line, list)
        and len(line) == 2
        and isinstance(line[0], str)
        and isinstance(line[1], int)
        and 0 <= line[1] <= DAY_MINUTES
    ]


def _owner(value: Any) -> str:
    """Return the owner of an exported persona, or ""."""
    try:
        return check_owner(value) if value else ""
    except InputError:
        return ""


Date = Annotated[datetime, BeforeValidator(_date)]
Text = Annotated[str, BeforeValidator(_text)]


class Meta(BaseModel):
    """The times and personas in `meta.json`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    start_date: Date
    curr_time: Date
    sec_per_step: int = Field(ge=1, le=86_400)
    persona_names: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(min_length=1)


class Scratch(BaseModel):
    """The identity and the schedule in `scratch.json`.

    The persona's own plans (`daily_plan_req`, `daily_req`) are ignored, since a run makes its own plans.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: Text = ""
    owner: Annotated[str, BeforeValidator(_owner), Field(alias="cogitate_owner")] = ""  # of an exported run
    age: Annotated[int | None, BeforeValidator(_age)] = None
    innate: Text = ""
    learned: Text = ""
    currently: Text = ""
    lifestyle: Text = ""
    living_area: Text = ""
    f_daily_schedule: Annotated[list[tuple[str, int]], BeforeValidator(_schedule)] = []
    importance_trigger_max: Annotated[int, Field(ge=1)] = 150


@dataclass(frozen=True)
class Persona:
    """One recorded agent."""

    name: str
    scratch: Scratch
    nodes: tuple[Node, ...]  # in order of time and id
    refused: tuple[RefusedNode, ...] = ()


@dataclass(frozen=True)
class Recording:
    """A recorded run, ready to be played."""

    path: Path
    meta: Meta
    personas: tuple[Persona, ...]
    warnings: Counter[str]  # error -> number of refused or repaired records

    @property
    def first_day(self) -> datetime:
        return self.meta.start_date.replace(hour=0, minute=0, second=0)

    def minute_of(self, when: datetime) -> int:
        """Convert a recorded time to game time, rounded down to the minute."""
        return int((when - self.first_day).total_seconds() // 60)


Model = TypeVar("Model", bound=BaseModel)


def read_recording(path: Path | str) -> Recording:
    """Read and validate a recorded run, from its folder, or from the capsule of a run that plays it.

    Raises:
        RecordingError: if the folder or one of its files is missing or cannot be read.
    """
    root = Path(path)
    files = RecordingFiles(root)
    named = next(filter(files.has, METAS), None)
    if named is None:
        raise RecordingError(f"{root}: there is no meta.json in it; is this the folder of one recording?")
    meta_file = root / named
    meta = _validated(meta_file, files.json(named), Meta)
    if meta.curr_time < meta.start_date:
        raise RecordingError(f"{meta_file}: it ends ({meta.curr_time}) before it starts ({meta.start_date})")
    warnings: Counter[str] = Counter()
    personas: list[Persona] = []
    read: set[str] = set()
    for name in meta.persona_names:
        if sound_text(name)[1] or Path(name).name != name or name in (".", "..") or "\\" in name or "\0" in name:
            raise RecordingError(f"{meta_file}: persona name {name[:80]!r} is not the name of a folder")
        if name in read:
            warnings["repeated_persona"] += 1
            continue
        read.add(name)
        scratch_file, nodes_file = of_persona(name)
        scratch = _validated(root / scratch_file, files.json(scratch_file), Scratch)
        records = files.json(nodes_file)
        if not isinstance(records, dict):
            raise RecordingError(f"{root / nodes_file}: expected an object of records, found {str(records)[:80]!r}")
        refused: list[RefusedNode] = []
        nodes = read_nodes(records, meta.start_date, warnings, refused)
        personas.append(Persona(name, scratch, nodes, tuple(refused)))
    return Recording(root, meta, tuple(personas), warnings)


def _validated(file: Path, data: Any, model: type[Model]) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise RecordingError(f"{file}: {where}: {first['msg']}, found {str(first['input'])[:80]!r}") from error

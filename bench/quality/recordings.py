"""Recorded data for measurements: Generative Agents runs and LoCoMo conversations, from a folder that the user names.

A folder holds `smallville/RUN/personas/NAME/bootstrap_memory/…` in the published format of Generative Agents
(Park et al. 2023, Apache-2.0) and `locomo/*.json` in the published format of LoCoMo (Maharana et al. 2024,
CC BY-NC 4.0: used for measuring, never shipped). Either part may be missing. Recorded data is dirty: importances out of
range, empty texts, evidence that does not exist. It is loaded unchanged, and each measurement states what it excludes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

_TIME = "%Y-%m-%d %H:%M:%S"
_TURN_ID = re.compile(r"D:?0*(\d+):0*(\d+)")
_SESSION_TIME = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True)
class RecordedMemory:
    """One memory of a recorded agent."""

    id: str
    number: int  # order of creation in its stream, from 1
    type: str  # event, thought or chat
    created: int  # seconds since 1970 of the simulated clock
    poignancy: int  # importance, meant to be 1 to 10; 0 if it is not a whole number
    subject: str
    text: str  # "description"
    key: str  # "embedding_key": the text that was embedded, and the query of a thought
    evidence: tuple[str, ...]  # ids in "filling"; empty for chats

    @property
    def minute(self) -> int:
        """Return the simulated time in total minutes."""
        return self.created // 60

    @property
    def idle(self) -> bool:
        """Return whether the text describes something idle."""
        return "idle" in self.text


@dataclass(frozen=True)
class Agent:
    """One recorded agent: its stream in order of creation."""

    name: str
    nodes: tuple[RecordedMemory, ...]


@dataclass(frozen=True)
class ReflectionRecord:
    """The times at which an agent reflected, and its counter at the end (None if the recording lacks it)."""

    agent: str
    trigger: int  # where the counter starts
    times: tuple[int, ...]  # seconds since 1970
    final_counter: int | None


@dataclass(frozen=True)
class Run:
    """One recorded day of a town."""

    name: str
    agents: tuple[Agent, ...]
    reflections: tuple[ReflectionRecord, ...]


@dataclass(frozen=True)
class Turn:
    """One line of a conversation."""

    id: str  # "session:turn"
    speaker: str
    text: str
    caption: str  # of an attached picture; may be empty
    session: int
    when: datetime | None  # of the session


@dataclass(frozen=True)
class RecordedQuestion:
    """A question about a conversation and the turns that answer it. Category 5 is adversarial."""

    text: str
    evidence: tuple[str, ...]  # ids of turns that exist
    category: int


@dataclass(frozen=True)
class RecordedConversation:
    """A LoCoMo sample. `sessions` and `summaries` are by number of session."""

    name: str
    speakers: tuple[str, str]
    sessions: dict[int, tuple[Turn, ...]]
    times: dict[int, str]  # as written, "1:56 pm on 8 May, 2023"
    summaries: dict[int, str]  # reference summaries
    questions: tuple[RecordedQuestion, ...]
    turns: tuple[Turn, ...] = field(default=())  # of all sessions, in order


def seconds(text: str) -> int:
    """Return a recorded time as seconds since 1970 (the simulated clock has no time zone)."""
    return int((datetime.strptime(text, _TIME) - datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001, DTZ007


@lru_cache(maxsize=4)
def load_runs(data: Path) -> tuple[Run, ...]:
    """Return all recorded runs below `data/smallville`, by name."""
    return tuple(_run(folder) for folder in sorted((data / "smallville").glob("*/")) if (folder / "personas").is_dir())


@lru_cache(maxsize=4)
def load_conversations(data: Path) -> tuple[RecordedConversation, ...]:
    """Return all conversations in `data/locomo/*.json`, by file and in the order of the file."""
    return read_conversations(data / "locomo")


def read_conversations(folder: Path) -> tuple[RecordedConversation, ...]:
    """Return the conversations of all files in LoCoMo's form, by file and in the order of the file."""
    found: list[RecordedConversation] = []
    for path in sorted(folder.glob("*.json")):
        samples = _read(path)
        for index, sample in enumerate(samples if isinstance(samples, list) else [samples]):
            found.append(_conversation(sample, f"{path.stem}-{index}"))
    return tuple(found)


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _run(folder: Path) -> Run:
    times = folder / "reflection_times.json"
    return Run(
        name=folder.name,
        agents=tuple(
            _agent(persona)
            for persona in sorted((folder / "personas").iterdir())
            if (persona / "bootstrap_memory" / "associative_memory" / "nodes.json").exists()
        ),
        reflections=tuple(
            ReflectionRecord(
                agent=record["agent"],
                trigger=int(record["trigger_max"]),
                times=tuple(seconds(t) for t in record["recorded"]),
                final_counter=record.get("scratch_curr"),
            )
            for record in (_read(times) if times.exists() else [])
        ),
    )


def _agent(persona: Path) -> Agent:
    raw = _read(persona / "bootstrap_memory" / "associative_memory" / "nodes.json")
    nodes = [_node(name, value) for name, value in raw.items()]
    return Agent(persona.name, tuple(sorted(nodes, key=lambda n: n.number)))


def _node(name: str, raw: dict[str, Any]) -> RecordedMemory:
    filling = raw.get("filling")
    items = filling if isinstance(filling, list) else []
    return RecordedMemory(
        id=name,
        number=int(name.rpartition("_")[2]),
        type=raw["type"],
        created=seconds(raw["created"]),
        poignancy=raw["poignancy"] if isinstance(raw["poignancy"], int) else 0,
        subject=str(raw["subject"]),
        text=str(raw["description"]),
        key=str(raw["embedding_key"]),
        evidence=tuple(i for i in items if isinstance(i, str)),
    )


def _conversation(sample: dict[str, Any], fallback: str) -> RecordedConversation:
    talk = sample["conversation"]
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    sessions = {
        n: tuple(_turn(raw, n, talk.get(f"session_{n}_date_time")) for raw in talk[f"session_{n}"]) for n in numbers
    }
    turns = tuple(turn for n in numbers for turn in sessions[n])
    known = {turn.id for turn in turns}
    return RecordedConversation(
        name=str(sample.get("sample_id", fallback)),
        speakers=(str(talk["speaker_a"]), str(talk["speaker_b"])),
        sessions=sessions,
        times={n: str(talk.get(f"session_{n}_date_time", "")) for n in numbers},
        summaries={
            n: text
            for n in numbers
            if (text := str(sample.get("session_summary", {}).get(f"session_{n}_summary", "")).strip())
        },
        questions=tuple(
            RecordedQuestion(str(raw["question"]), evidence, int(raw["category"]))
            for raw in sample["qa"]
            if (evidence := _evidence(raw.get("evidence") or [], known))
        ),
        turns=turns,
    )


def _turn(raw: dict[str, Any], session: int, when: str | None) -> Turn:
    match = _TURN_ID.search(str(raw["dia_id"]))
    return Turn(
        id=f"{match[1]}:{match[2]}" if match else str(raw["dia_id"]),
        speaker=str(raw["speaker"]),
        text=str(raw.get("text", "")),
        caption=str(raw.get("blip_caption", "")),
        session=session,
        when=_session_time(when) if when else None,
    )


def _session_time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, _SESSION_TIME)  # noqa: DTZ007
    except ValueError:
        return None  # not every session has a readable time


def _evidence(raw: list[str], known: set[str]) -> tuple[str, ...]:
    """Return the existing turns named by ids, which may be "D1:3", "D:1:03" or several in one string."""
    ids = [f"{session}:{turn}" for item in raw for session, turn in _TURN_ID.findall(str(item))]
    return tuple(dict.fromkeys(i for i in ids if i in known))

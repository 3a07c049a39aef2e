"""One day of one agent of the built-in town, by heuristics and by a model, side by side and unedited.

The settings name the model as usual: COGITATE_BASE_URL, COGITATE_MODEL, OPENAI_API_KEY. Only the shown agent's jobs ask
it; the other agents have no budget and use heuristics in both runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from cogitate.memory.clock import DAY, clock_time, day_of
from cogitate.memory.effects import Append, Tell
from cogitate.memory.entry import Entry
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.journal.history import read_journal
from cogitate.simulation.town.town import Town

AGENTS = 25
TICKS = DAY + 11 * 60  # until the talks of the first day are summarised
SECTIONS = {
    "plan": "The plan of the morning",
    "act": "What to do next, where the plan leaves it open",
    "reflect": "Reflections",
    "summarise": "Summaries of the day's conversations",
}


class Thought(NamedTuple):
    """The outcome of one job, and its source."""

    kind: str
    minute: int  # game time of its subject
    text: str
    maker: str


def markdown(agent: str = "agent:amara-okafor") -> str:
    """Return the day as a page. `agent` is an owner's name of the town ("agent:amara-okafor").

    Raises:
        KeyError: if there is no such owner.
        ConfigurationError: if the environment's settings configure no usable model.
    """
    name = Town(AGENTS).owners()[agent].name
    left = list(_live(agent, {"llm": "heuristic"}))
    limits = {"run.owner:*.calls": 0, f"run.owner:{agent}.calls": 1_000}
    asked: dict[str, Any] = {"llm": "openai", "limit_tokens": 10_000_000, "limits": limits, "repair_from": 1440}
    right = list(_live(agent, asked))
    model = Settings().model
    left, right = ([t for t in thoughts if day_of(t.minute) == 0] for thoughts in (left, right))
    lines = [f"## {name}, day 1"]
    for kind, title in SECTIONS.items():
        pair = [[t for t in thoughts if t.kind == kind] for thoughts in (left, right)]
        lines += ["", f"### {title}", "", f"| by heuristics | by {model} |", "| --- | --- |"]
        lines += (f"| {_cell(a)} | {_cell(b)} |" for a, b in zip_longest(*pair))
    by_model = sum(t.maker == "model" for t in right)
    return "\n".join([*lines, "", f"Of the {len(right)} thoughts on the right, the model made {by_model}."])


def _live(agent: str, settings: dict[str, Any]) -> Iterator[Thought]:
    town = Town(AGENTS)
    with (
        tempfile.TemporaryDirectory() as folder,
        loop_of(town, "day", Settings.tuned(data_dir=Path(folder), **settings), ticks=TICKS, inline=True) as loop,
    ):
        drive(loop, town)
        for line in read_journal(loop.ledger.store, 1, loop.tick):
            notes = {note.key: note for note in line.notes.ended}
            for ended in line.core.ended:
                if ended.key.owner != agent or ended.key.kind not in SECTIONS:
                    continue
                note = notes[ended.key]
                failed = f", for the model failed: {note.failure}" if note.failure else ""
                maker = "model" if note.source == "llm" else f"heuristic{failed}"
                asked_at = loop.state.facts.minute(ended.key.tick)
                for effect in ended.effects:
                    if isinstance(effect, Append):
                        yield Thought(ended.key.kind, *_minute_and_text(effect.entry), maker)
                    elif isinstance(effect, Tell) and effect.topic == "action":
                        data = effect.data
                        why = f" ({data['reason']})" if data["reason"] else ""
                        said = f"{data['type']} {data['location']}: {data['doing']}{why}"
                        yield Thought(ended.key.kind, asked_at, f"{clock_time(asked_at)} {said}", maker)


def _minute_and_text(entry: Entry) -> tuple[int, str]:
    if entry.type == "plan":
        items: Sequence[str] = [f"{clock_time(item.minute or 0)} {item.description}" for item in entry.items]
        return entry.minute, "<br>".join(items)
    return entry.minute, f"{clock_time(entry.minute)} {entry.text}"


def _cell(thought: Thought | None) -> str:
    if thought is None:
        return ""
    text = " ".join(thought.text.split()).replace("|", "\\|")
    return text if thought.maker == "heuristic" else f"{text}<br>*{thought.maker}*"

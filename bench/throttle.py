"""Measure the quality lost by throttling reflection: a recorded day at ever lower cadences.

Agents live the recorded day and reflect by accumulated importance, as the recorded ones did, at a fixed share of that
cadence. The model behind HTTP is a stand-in: its words are meaningless, but its prompts show real memories.

Evidence recall is the share of the memories behind the recorded agents' insights (distinct texts per agent) that a
reflection of the run also used: its prompt showed them, or its heuristic named them. It measures which memories were
reconsidered, not the quality of the conclusions. A skipped reflection recalls nothing.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.ops.formatting.charts import Axis, Series, document, line_chart
from cogitate.ops.world_driver import drive, loop_of
from cogitate.scheduler.config.controls import FULL, SetCadence
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.journal.history import read_journal
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.recorded.recording import Recording, read_recording
from cogitate.tasks.reflect import Reflect
from cogitate.workers.processes.embedded import EmbeddedServer

RECORDING = "july1"
CADENCES = (1.0, 0.5, 0.25, 0.125)
KIND = Reflect.name


class ThrottledDay(NamedTuple):
    """One day."""

    label: str
    calls: int  # to a model, by reflections
    reflections: int
    recall: float  # evidence recall
    tokens: int  # of these calls


def report(data: Path, plot: Annotated[Path | None, "an SVG file to write"] = None) -> Table:
    """Return the table of the days, and write their plot to a file if one is named."""
    found, days = table(data)
    if plot is not None:
        plot.write_text(plot_of(days))
    return found


def table(data: Path) -> tuple[Table, list[ThrottledDay]]:
    """Run the day at each cadence, and by heuristics only.

    Raises:
        FileNotFoundError: if the recording is missing.
    """
    folder = data / "smallville" / RECORDING
    if not folder.is_dir():
        raise FileNotFoundError(f"{data} has no recording smallville/{RECORDING}")
    evidence = _evidence(read_recording(folder))
    with FakeEndpoint() as endpoint:
        days = [_live(folder, evidence, cadence, endpoint.url) for cadence in CADENCES]
    days.append(_live(folder, evidence, 1.0, None))
    rows = tuple(Row(day.label, (day.calls, day.reflections, day.recall, day.tokens)) for day in days)
    count = sum(len(texts) for texts in evidence.values())
    note = f"{len(evidence)} agents, one day, {count} memories that recorded insights rest on."
    return Table("Reflection throttled", ("LLM calls", "reflections", "evidence recall", "tokens"), rows, note), days


def plot_of(days: list[ThrottledDay]) -> str:
    """Plot evidence recall and reflections over calls, as an SVG file."""
    asked = sorted((day for day in days if day.calls), key=lambda day: day.calls)
    base = next(day for day in days if not day.calls)
    most = max(day.reflections for day in days)
    chart = line_chart(
        "What throttled reflection costs",
        [
            Series("evidence recall", [(day.calls, day.recall) for day in asked]),
            Series("reflections, share of most", [(day.calls, day.reflections / most) for day in asked]),
            Series("recall of heuristics alone", [(0, base.recall), (asked[-1].calls, base.recall)]),
        ],
        x=Axis.over(0, asked[-1].calls),
        y="by calls to a model in a day",
        top=1.0,
    )
    return document(chart)


def _live(folder: Path, evidence: dict[str, set[str]], cadence: float, url: str | None) -> ThrottledDay:
    world = RecordedWorld(folder)
    trigger = min(persona.scratch.importance_trigger_max for persona in world.recording.personas)
    asked: dict[str, Any] = {"llm": "openai", "base_url": url, "api_key": "any", "model": MODEL, "limit_tokens": 10**12}
    with TemporaryDirectory() as data_dir:
        settings = Settings.tuned(
            data_dir=Path(data_dir),
            limits={},
            act_interval=0,
            repair_from=1440,
            rate_share=0.0,
            throttle_auto=False,
            reflection_trigger="importance",
            reflection_trigger_max=trigger,
            **(asked if url else {}),
        )
        with (
            EmbeddedServer(Path(data_dir)) as server,
            server.client() as client,
            loop_of(world, "day", settings, ticks=world.ticks_per_day, inline=True, client=client) as loop,
        ):
            loop.state.steering.throttle.set(SetCadence(kind=KIND, factor=round(cadence * FULL), pinned=True))
            drive(loop, world)
            label = f"cadence {cadence:g}" if url else "heuristics only"
            return _measured(label, loop, evidence)


def _measured(label: str, loop: TickLoop, evidence: dict[str, set[str]]) -> ThrottledDay:
    calls = tokens = reflections = 0
    looked_at: dict[str, set[str]] = {name: set() for name in evidence}
    for line in read_journal(loop.ledger.store, 1, loop.tick):
        for note in line.notes.ended:
            if note.key.kind == KIND:
                calls += note.usage.calls if note.source == "llm" else 0
                tokens += note.usage.tokens
                reflections += len(note.appended)
    for owner, stream in loop.state.streams.items():
        name = loop.state.profiles[owner].name
        for entry in stream.entries.values():
            if entry.type == "reflection":
                looked_at[name] |= {stream.entries[n].text for n in entry.evidence if n in stream.entries}
    found = sum(len(texts & looked_at[name]) for name, texts in evidence.items())
    return ThrottledDay(label, calls, reflections, found / sum(map(len, evidence.values())), tokens)


def _evidence(recording: Recording) -> dict[str, set[str]]:
    """Return, for each agent, the texts of the events behind its recorded insights."""
    found: dict[str, set[str]] = {}
    for persona in recording.personas:
        nodes = {node.number: node for node in persona.nodes}
        named = {number for node in persona.nodes if node.type == "thought" for number in node.evidence}
        found[persona.name] = {nodes[number].text for number in named if nodes[number].type == "event"}
    return found

"""`cogitate memory`: show an owner's memory stream, now or at an earlier tick, and what a query retrieves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from hosting import logs
from hosting.terminal import Terminal, visible
from memory.clock import clock_time, day_and_time
from memory.entry import INTO_SUMMARY, Entry
from memory.retrieval.retrieval import DEFAULT, Scored
from ops.command_options import AsJson, DataDir, OwnerName, RunName, Verbose, read_settings
from ops.formatting.unreadable_entries import print_left_out
from ops.open_state import open_state
from scheduler.inspection.memory_view import MemoryView, read_memory

EXAMPLE = "Example: cogitate memory town-1 agent:ada --query 'What happened at the market?'"


def memory(
    run: RunName,
    owner: OwnerName,
    tick: Annotated[
        int | None, typer.Option("--tick", metavar="N", help="Show the memory as it was at the end of tick N.")
    ] = None,
    query: Annotated[
        str | None, typer.Option("--query", metavar="TEXT", help="Show only what this query retrieves, the best first.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many entries a query retrieves.")] = 10,
    profile: Annotated[
        str, typer.Option("--profile", help="The scoring of memories: default, dialogue or spec.")
    ] = DEFAULT.name,
    last: Annotated[int, typer.Option("--last", min=0, help="How many of the newest entries to show; 0: all.")] = 40,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Show an owner's memory stream with each entry's score: by recency, importance and relevance to a query.

    The notes name ratings, repeats, provisional entries, and the entry or summary that an archived one went into.
    """
    logs.configure(verbose)
    with open_state(read_settings(data_dir=data_dir)) as client:
        view = read_memory(client, run, owner, tick)
    print_left_out(view.left_out)
    found = view.search(query, top, profile) if query is not None else None
    salience = view.salience(profile)
    console = Terminal(stderr=as_json)
    _print_head(console, view)
    console.print(_entries_table(view, salience, last) if found is None else _found_table(found))
    if as_json:
        facts = _json(view, salience)
        if found is not None:
            facts["query"] = {"text": query, "profile": profile, "found": [_scored(one) for one in found]}
        print(json.dumps(facts), flush=True)
    return 0


def _print_head(console: Terminal, view: MemoryView) -> None:
    entries, live = view.entries(), view.live()
    types = Counter(e.type for e in live)
    repeats = sum(view.marks(e).repeats for e in entries)
    left = ", has left" if view.retired else ""
    console.print(
        f"{view.owner} of run {view.run}{left}: tick {view.tick:,}, {day_and_time(view.minute)}\n"
        f"{len(live):,} live entries ({', '.join(f'{n} {name}' for name, n in sorted(types.items())) or 'none'}), "
        f"{len(entries) - len(live):,} archived, {repeats:,} repeats counted",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    if view.stream.head.summary:
        console.print("Long-term summary:", view.stream.head.summary, highlight=False, soft_wrap=True)


def _entries_table(view: MemoryView, salience: Mapping[int, Scored], last: int) -> Table:
    table = _table("imp.")
    entries = view.entries()
    for entry in entries[-last:] if last else entries:
        gone = view.archived(entry) is not None
        why = "" if gone else _why(salience[entry.number])
        table.add_row(
            str(entry.number), day_and_time(entry.minute), entry.type, str(entry.importance or "-"),
            _text(entry, why, _notes(view, entry)), style="dim" if gone else None,
        )  # fmt: skip
    return table


def _found_table(found: list[Scored]) -> Table:
    table = _table("score")
    for one in found:
        entry = one.entry
        text = _text(entry, _why(one))
        table.add_row(str(entry.number), day_and_time(entry.minute), entry.type, f"{one.score:.3f}", text)
    return table


def _table(figure: str) -> Table:
    """Return an empty table of entries whose text takes the width that the other columns leave."""
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False)
    for name in ("no.", "when", "type", figure):
        table.add_column(name, no_wrap=True)
    table.add_column("text", ratio=1)
    return table


def _text(entry: Entry, *explanations: str) -> Text:
    """Return an entry's text with what explains it on lines of their own."""
    return Text.assemble(visible(entry.text), *((f"\n{line}", "dim") for line in explanations if line))


def _why(one: Scored) -> str:
    return " + ".join(f"{part.name} {part.weight:g}×{part.value:.3f}" for part in one.parts if part.value)


def _notes(view: MemoryView, entry: Entry) -> str:
    marks, archived = view.marks(entry), view.archived(entry)
    notes = []
    if entry.provisional:
        notes.append("provisional")
    if marks.repeats:
        notes.append(f"{marks.repeats + 1} times, last at {clock_time(marks.last_repeat)}")
    if entry.rated > entry.tick:
        notes.append(f"rated at tick {entry.rated}")
    if marks.accesses:
        notes.append(f"used {marks.accesses} times" if marks.accesses > 1 else "used once")
    if archived is not None:
        into = {0: "", INTO_SUMMARY: " into the summary"}.get(archived.into, f" into {archived.into}")
        notes.append(f"archived{into} at tick {archived.tick}")
    return ", ".join(notes)


def _json(view: MemoryView, salience: Mapping[int, Scored]) -> dict[str, Any]:
    entries = []
    for entry in view.entries():
        archived = view.archived(entry)
        entries.append(
            {
                **msgspec.to_builtins(entry),
                "importance": entry.importance,
                "provisional": entry.provisional,
                "marks": {name: getattr(view.marks(entry), name) for name in view.marks(entry).__struct_fields__},
                "archived": None if archived is None else {"tick": archived.tick, "into": archived.into},
                "why": _scored(salience[entry.number]) if archived is None else None,
            }
        )
    return {
        "run": view.run,
        "owner": view.owner,
        "tick": view.tick,
        "minute": view.minute,
        "retired": view.retired,
        "summary": view.stream.head.summary,
        "plan_status": dict(sorted(view.stream.head.plan_status.items())),
        "entries": entries,
        "left_out": [one._asdict() for one in view.left_out],
    }


def _scored(one: Scored) -> dict[str, Any]:
    parts = [{"name": part.name, "weight": part.weight, "value": part.value} for part in one.parts]
    return {"number": one.entry.number, "text": one.entry.text, "score": one.score, "parts": parts}

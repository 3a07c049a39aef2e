"""`cogitate memory` shows an owner's memory stream and what a query retrieves; `cogitate plan` shows its plan."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, cast

import msgspec
import typer
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from cogitate.hosting.terminal import Terminal, visible
from cogitate.memory.clock import clock_time, day_and_time
from cogitate.memory.entry import INTO_SUMMARY, Entry, EntryType, Marks, PlanItem
from cogitate.memory.retrieval.retrieval import Scored
from cogitate.memory.view import CurrentPlan
from cogitate.ops.capsule.reading import open_run
from cogitate.ops.command_options import OwnerName, RunOrFile, SharedOptions
from cogitate.ops.formatting.vitals import print_left_out
from cogitate.scheduler.inspection.stored_memory import StoredMemory, read_memory

NOTHING = "no memory matches"


def memory(
    run: RunOrFile,
    owner: OwnerName,
    tick: Annotated[
        int | None, typer.Option("--tick", metavar="N", help="Show the memory as of the end of tick N.")
    ] = None,
    query: Annotated[
        str | None, typer.Option("--query", metavar="TEXT", help="Show only the best entries for this query.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many entries a query retrieves.")] = 10,
    profile: Annotated[
        str | None,
        typer.Option("--profile", help="The scoring of memories: default, dialogue or spec; without it, the run's."),
    ] = None,
    about: Annotated[
        list[str] | None, typer.Option("--about", metavar="WHO", help="Show only entries that involve WHO; repeatable.")
    ] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Show only entries of this type; repeatable.")
    ] = None,
    since: Annotated[
        int | None, typer.Option("--since", metavar="MINUTE", help="Show only entries from this game time on.")
    ] = None,
    context: Annotated[
        int | None,
        typer.Option("--context", metavar="TOKENS", help="Print lines for a prompt within TOKENS, and nothing else."),
    ] = None,
    last: Annotated[int, typer.Option("--last", min=0, help="How many of the newest entries to show; 0: all.")] = 40,
    *,
    options: SharedOptions,
) -> int:
    """Show an owner's memory stream with each entry's score: by recency, importance and relevance to a query.

    With --query it shows what the query retrieves, and with --context lines for a prompt. The notes name
    ratings, repeats, provisional entries, and the entry or summary that an archived one went into.
    """
    with open_run(options.settings(), run) as (client, run):
        kept = read_memory(client, run, owner, tick)
    print_left_out(kept.left_out)
    view, named, wanted = kept.view, about or [], [cast("EntryType", one) for one in types or []]  # recall checks them
    if context is not None:
        lines = view.context(query or "", tokens=context, profile=profile, about=named)
        print(
            json.dumps({"run": run, "owner": owner, "context": lines}) if options.as_json else visible(lines),
            flush=True,
        )
        return 0
    found = view.recall(query or "", limit=top, profile=profile, about=named, types=wanted, since=since)
    choice = kept.facts.profile if profile is None else profile
    salience = kept.salience(choice)
    entries = kept.entries(about=named, types=wanted, since=since)
    console = Terminal(stderr=options.as_json)
    with view.clock.in_force():
        _print_head(console, kept)
        if query is None:
            console.print(_entries_table(kept, entries, salience, last) if entries else NOTHING)
            if last and len(entries) > last:
                console.print(f"the newest {last:,} of {len(entries):,}; --last 0 shows all")
        else:
            console.print(found_table(found) if found else NOTHING)
            if found and not any(part.name == "relevance" and part.value for one in found for part in one.parts):
                console.print("None of these matches the query: recency and importance rank them.")
    if options.as_json:
        facts = _json(kept, entries, salience)
        if query is not None:
            facts["query"] = {"text": query, "profile": choice, "found": [_scored(one) for one in found]}
        print(json.dumps(facts), flush=True)
    return 0


def _print_head(console: Terminal, kept: StoredMemory) -> None:
    entries, live = kept.stream.entries, kept.stream.live()
    types = Counter(e.type for e in live)
    repeats = sum(marks.repeats for marks in kept.stream.marks.values())
    left = ", has left" if kept.retired else ""
    named = "entry" if len(live) == 1 else "entries"
    console.print(
        f"{kept.owner} of run {kept.run}{left}: tick {kept.tick:,}, {day_and_time(kept.minute)}\n"
        f"{len(live):,} live {named} ({', '.join(f'{n} {name}' for name, n in sorted(types.items())) or 'none'}), "
        f"{len(entries) - len(live):,} archived, {repeats:,} repeats counted"
    )
    if kept.view.summary:
        console.print("Long-term summary:", kept.view.summary)


def _entries_table(kept: StoredMemory, entries: Sequence[Entry], salience: Mapping[int, Scored], last: int) -> Table:
    table = _table("imp.")
    for entry in entries[-last:] if last else entries:
        gone = not kept.stream.is_live(entry.number)
        why = "" if gone else salience[entry.number].why
        table.add_row(
            str(entry.number),
            day_and_time(entry.minute, entry.tick),
            entry.type,
            str(entry.importance or "-"),
            _text(entry, why, _notes(kept, entry)),
            style="dim" if gone else None,
        )
    return table


def found_table(found: Sequence[Scored]) -> Table:
    table = _table("score")
    for one in found:
        entry = one.entry
        text = _text(entry, one.why)
        table.add_row(str(entry.number), day_and_time(entry.minute, entry.tick), entry.type, f"{one.score:.3f}", text)
    return table


def _table(figure: str) -> Table:
    """Return an empty table of entries whose text column takes the remaining width."""
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False)
    for name in ("no.", "when", "type", figure):
        table.add_column(name, no_wrap=True)
    table.add_column("text", ratio=1, overflow="fold")  # a text without spaces, such as Chinese, is one long word
    return table


def _text(entry: Entry, *explanations: str) -> Text:
    """Return an entry's text, followed by lines that explain its score."""
    return Text.assemble(visible(entry.text), *((f"\n{line}", "dim") for line in explanations if line))


def _notes(kept: StoredMemory, entry: Entry) -> str:
    marks, archived = kept.stream.marks.get(entry.number, Marks()), kept.stream.archived.get(entry.number)
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


def _json(kept: StoredMemory, entries: Sequence[Entry], salience: Mapping[int, Scored]) -> dict[str, Any]:
    shown = []
    for entry in entries:
        archived, marks = kept.stream.archived.get(entry.number), kept.stream.marks.get(entry.number, Marks())
        shown.append(
            {
                **msgspec.to_builtins(entry),
                "importance": entry.importance,
                "provisional": entry.provisional,
                "marks": msgspec.structs.asdict(marks),
                "archived": None if archived is None else {"tick": archived.tick, "into": archived.into},
                "why": _scored(salience[entry.number]) if archived is None else None,
            }
        )
    view = kept.view
    talks = [{"participants": talk.participants, "numbers": talk.numbers} for talk in view.conversations()]
    return {
        "run": kept.run,
        "owner": kept.owner,
        "tick": kept.tick,
        "minute": kept.minute,
        "retired": kept.retired,
        "summary": view.summary,
        "plan_status": dict(sorted(kept.stream.head.plan_status.items())),
        "plan": _plan(view.plan()),
        "conversations": talks,
        "relationships": [asdict(one) for one in view.relationships()],
        "entries": shown,
        "left_out": [one._asdict() for one in kept.left_out],
    }


def _plan(plan: CurrentPlan | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    items = [msgspec.structs.asdict(item) for item in plan.items]
    named = {"now": plan.now, "next": plan.next}
    ids = {when: item.id if item is not None else None for when, item in named.items()}
    return {"number": plan.number, "valid_until": plan.valid_until, "items": items, **ids}


def _scored(one: Scored) -> dict[str, Any]:
    parts = [{"name": part.name, "weight": part.weight, "value": part.value} for part in one.parts]
    return {"number": one.entry.number, "text": one.entry.text, "score": one.score, "parts": parts}


def plan(run: RunOrFile, owner: OwnerName, options: SharedOptions) -> int:
    """Show the plan in force with the present status of each item, and which is next."""
    with open_run(options.settings(), run) as (client, run):
        kept = read_memory(client, run, owner)
    plan = kept.view.plan()
    entry = kept.stream.entries[plan.number] if plan is not None else None
    console = Terminal(stderr=options.as_json)
    with kept.view.clock.in_force():
        console.print(f"{owner} of run {run}: {day_and_time(kept.minute)}")
        if plan is None or entry is None:
            console.print("no plan in force")
        else:
            until = f"until {day_and_time(entry.valid_until)}" if kept.view.clock.has_times else "until the next plan"
            how = "provisionally by a heuristic" if entry.provisional else "by its job"
            console.print(f"Plan {entry.number}, created {how} at tick {entry.tick:,}, {until}: {entry.text}")
            console.print(items_table(plan.items))
            for label, present in (("Now", plan.now), ("Next", plan.next)):
                if present is not None:
                    console.print(f"{label}: {present.description}")
    if options.as_json:
        of_plan = _plan(plan)
        if of_plan is not None and entry is not None:
            of_plan |= {"tick": entry.tick, "text": entry.text, "provisional": entry.provisional}
        facts = {"run": run, "owner": owner, "tick": kept.tick, "minute": kept.minute, "plan": of_plan}
        print(json.dumps(facts), flush=True)
    return 0


def items_table(items: Iterable[PlanItem]) -> Table:
    table = Table()
    for name in ("item", "time", "what", "where", "prio.", "status"):
        table.add_column(name, overflow="fold")  # a text without spaces, such as Chinese, counts as one long word
    for item in items:
        when = "" if item.minute is None else clock_time(item.minute)
        table.add_row(item.id, when, item.description, item.location or "", str(item.priority), item.status)
    return table

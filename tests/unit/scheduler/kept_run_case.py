"""A short run whose ledger holds what its journal leads to, for the tests of who holds the two against each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from fakeredis import FakeRedis

from cogitate.memory.effects import Append
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import dump
from cogitate.memory.stream import Stream
from cogitate.scheduler.budget.admission import DecidedLine
from cogitate.scheduler.config.facts import SCHEMA, Facts, keep_settings
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.engine.run_data import LoopState
from cogitate.scheduler.journal.checkpoint import JournalCheckpoint, content_hash, packed, write_checkpoint
from cogitate.scheduler.journal.exported import ExportedJournal, exported_entry
from cogitate.scheduler.journal.lines import (
    Core,
    Correction,
    Ended,
    EndNote,
    Retried,
    TickNotes,
    read_line,
    unpack_line,
    write_line,
)
from cogitate.scheduler.journal.rebuilt_streams import redo
from cogitate.scheduler.journal.run_totals import RunTotals
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import write_streams
from cogitate.tasks.job import JobKey
from tests.unit.scheduler.run_lines_case import ANN, BOB, CY, LATE, MORE, SOON, USED, decided, opened, store_of

Tick = tuple[dict[str, Any], dict[str, Any]]  # fields of the core and of the notes

PUT_OFF, AGAIN = JobKey(2, "muse", CY, 0, 0), JobKey(4, "muse", CY, 0, 1)


def thought(owner: str, text: str) -> Append:
    return Append(owner=owner, entry=Entry(type="reflection", text=text, minute=3))


#: Three owners join; one job ends with an answer, one late and is corrected later; one is put off and ends without a
#: model; its owner leaves.
LIVED: tuple[Tick, ...] = (
    (
        {
            "joined": tuple((owner, Profile(name=owner)) for owner in (ANN, BOB, CY)),
            "facts": Facts(),
            "decided": (decided(SOON), decided(LATE)),
        },
        {"opened": opened(SOON, LATE)},
    ),
    (
        {
            "observed": (
                (ANN, Entry(type="observation", text="A fire.", minute=2)),
                (CY, Entry(type="observation", text="A cow.", minute=2)),
            ),
            "decided": (
                DecidedLine(key=PUT_OFF, decision="deferred", due=0, refused="run:0 run calls", successor=AGAIN),
            ),
        },
        {},
    ),
    (
        {
            "ended": (
                Ended(key=SOON, end="applied", effects=(thought(ANN, "It was hot."),)),
                Ended(key=LATE, end="applied", reason="late", effects=(thought(BOB, "I wonder."),)),
            )
        },
        {
            "ended": (
                EndNote(key=SOON, source="llm", usage=USED, attempts=1, model="default", appended=(2,)),
                EndNote(key=LATE, source="heuristic", attempts=2, failure="server", appended=(1,)),
            )
        },
    ),
    ({"decided": (DecidedLine(key=AGAIN, decision="heuristic", due=5),)}, {"retried": (Retried(LATE, MORE),)}),
    (
        {"ended": (Ended(key=AGAIN, end="applied", effects=(thought(CY, "I shall go."),)),)},
        {
            "ended": (EndNote(key=AGAIN, source="heuristic", appended=(2,)),),
            "corrected": (Correction(key=LATE, usage=USED, at=5),),
        },
    ),
    ({"left": (CY,)}, {}),
)


def changed(tick: int, core: Mapping[str, Any] | None = None, notes: Mapping[str, Any] | None = None) -> list[Tick]:
    """Return the same run with other fields in one tick."""
    found = list(LIVED)
    was = found[tick - 1]
    found[tick - 1] = ({**was[0], **(core or {})}, {**was[1], **(notes or {})})
    return found


def hashes(streams: Mapping[str, Stream]) -> dict[str, str]:
    return {owner: content_hash(dump(stream)) for owner, stream in streams.items()}


def kept_run(
    ticks: Sequence[Tick] = LIVED,
    *,
    marked: Collection[int] = (),
    trimmed: int = 0,
    into: Path | None = None,
    of_checkpoints: Mapping[str, Any] | None = None,
) -> RunStore:
    """A ledger with the run, sound as far as its ticks are.

    Args:
        marked: ticks with a checkpoint behind them.
        trimmed: one of these; the lines up to it are removed.
        into: a folder for the lines that were removed.
        of_checkpoints: fields that checkpoints have in place of the right ones.
    """
    client, digest, chain = FakeRedis(), "", ""
    totals, streams, retired = RunTotals(), dict[str, Stream](), dict[str, Stream]()
    kept, entries, marks = list[bytes](), list[bytes](), dict[int, tuple[bytes, dict[str, bytes]]]()
    for tick, (core, notes) in enumerate(ticks, 1):
        before = digest, chain
        line, digest, chain = write_line(
            Core(tick=tick, minute=tick, **core), TickNotes(epoch=1, **notes), digest, chain, SCHEMA
        )
        kept.append(line)
        entries.append(exported_entry(*unpack_line(line), "line"))
        read = read_line(line, tick, *before)
        retired |= {stream.owner: stream for stream in redo(read, streams)}
        totals.add(read)
        if tick in marked:
            said: dict[str, Any] = {
                "v": SCHEMA,
                "tick": tick,
                "digest": digest,
                "after": chain,
                "totals": totals,
                "streams": hashes(streams),
                "retired": hashes(retired),
            }
            entry, chain = write_checkpoint(JournalCheckpoint(**(said | dict(of_checkpoints or {}))))
            marks[tick] = entry, {owner: packed(dump(stream)) for owner, stream in streams.items()}
            entries.append(exported_entry(chain, entry.partition(b" ")[2], "checkpoint"))
    if into is not None:
        ExportedJournal(into).write(1, trimmed, entries[: trimmed + sum(tick <= trimmed for tick in marks)])
    state: dict[str, Any] = {
        "digest": digest,
        "chain": chain,
        "loop": msgspec.json.encode(LoopState()),
        "status": "finished",
        "settings": keep_settings(PinnedSettings()),
        **({"trimmed": trimmed} if trimmed else {}),
    }
    store = store_of(kept[trimmed:], client, tick=len(kept), **state)
    for tick, (entry, bodies) in marks.items():
        if tick >= trimmed:
            client.hset(store.key("journal_checkpoints"), str(tick), entry)
            client.hset(store.checkpoint_streams_key(tick), mapping=bodies)  # type: ignore[arg-type]
    for name, values in (
        ("owners", {owner: msgspec.json.encode(profile) for owner, profile in totals.profiles.items()}),
        ("facts", {str(version): msgspec.json.encode(facts) for version, facts in totals.facts.items()}),
        ("view", dict(totals.view)),
        ("retired", dict.fromkeys(retired, len(kept))),
    ):
        if values:
            client.hset(store.prefix + name, mapping=values)  # type: ignore[arg-type]
    write_streams(store, [*streams.values(), *retired.values()])
    return store

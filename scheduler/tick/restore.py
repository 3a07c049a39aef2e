"""Read a run back from the ledger into a host's memory.

Each tick seals the streams, facts and owners that it changes. Keys under the run's prefix:
    seals  hash  owner -> seal of its stream (`cogitate.memory.seal`); ":facts" and ":owners" -> hash of these
    state  hash  sealed: the last sealed tick
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import structlog
from redis.exceptions import ResponseError

from cogitate.memory import typed_json
from cogitate.memory.profile import Profile
from cogitate.memory.seal import broken_parts, digest_of
from cogitate.memory.stream import Stream
from cogitate.memory.unreadable import leave_out, unreadable
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.open_jobs import load_open_jobs
from cogitate.scheduler.engine.part import Part
from cogitate.scheduler.engine.run_data import LoopState, Streams
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.checkpoint import load_base, load_checkpoint_streams
from cogitate.scheduler.journal.history import pass_journal
from cogitate.scheduler.journal.rebuilt_streams import redo
from cogitate.scheduler.journal.run_totals import RunTotals, wrong_facts
from cogitate.scheduler.journal.unreadable_entries import check_kind_wrote
from cogitate.scheduler.ledger.connect import why_keys_vanish
from cogitate.scheduler.ledger.errors import LedgerError, RunAltered, RunUnreadable
from cogitate.scheduler.ledger.ledger import HostLedger, Value, Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import chunked, differences, load_streams, load_world

FACTS, OWNERS = ":facts", ":owners"  # no owner has such a name

log = structlog.get_logger()


class Restored(NamedTuple):
    """The position of a run after its last committed tick."""

    tick: int
    digest: str
    chain: str
    checkpoint: bytes | None  # the world's state
    checkpoint_tick: int
    windows: set[str]
    seals: Seals


def restore(ledger: HostLedger, state: RunState, parts: Sequence[Part]) -> Restored:
    """Fill `state` from the ledger, and return the run's position; a new run is empty.

    Raises:
        RunUnreadable, RunAltered: if the stored run is damaged, or differs from what its host wrote.
    """
    try:
        restored = _restore(ledger, state)
        for part in parts:
            part.load(ledger.store)
        return restored
    except LedgerError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, ResponseError) as error:
        raise RunUnreadable(ledger.run, f"{type(error).__name__}: {error}") from error


def _restore(ledger: HostLedger, state: RunState) -> Restored:
    store = ledger.store
    tick, digest, chain, kept = map(_text, store.state("tick", "digest", "chain", "loop"))
    state.open.restore(load_open_jobs(store))
    if int(tick) == 0:
        return Restored(0, "", "", None, 0, set(), Seals())
    loop = typed_json.decode(kept, LoopState)
    owners = store.mapping("owners")
    state.profiles = {o.decode(): typed_json.decode(raw, Profile) for o, raw in sorted(owners.items())}
    state.streams = Streams(load_streams(store, state.profiles))
    state.retired = {owner.decode() for owner in store.fields("retired")}
    facts = store.mapping("facts")
    state.facts_at = {int(version): typed_json.decode(raw, Facts) for version, raw in facts.items()}
    seals = Seals()
    seals.check(store, state, int(tick))
    state.left_out = list(unreadable(state.streams.values()))
    for one in state.left_out:
        if one.number:
            check_kind_wrote(store, one.owner, state.streams[one.owner].entries[one.number])
        leave_out(state.streams[one.owner], (one.number,), int(tick) + 1)
    state.facts = state.facts_at[loop.facts_version]
    state.facts_version = loop.facts_version
    state.deferred = list(loop.deferred)
    state.triggers = list(loop.triggers)
    view = store.mapping("view")
    state.view.held = {field.decode(): int(value) for field, value in view.items()}
    windows = store.members("windows")
    world, at = load_world(store)
    return Restored(int(tick), digest, chain, world, at, {window.decode() for window in windows}, seals)


def _text(value: bytes | None) -> str:
    return value.decode() if value else ""


class Seals:
    """Seals the state of a run, and checks it against the seals in the ledger."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}  # the seals that the ledger should hold

    def take_writes(self, state: RunState, changed: Iterable[Stream], tick: int, *, run_changed: bool) -> list[Write]:
        """Return the commands that seal the state after a tick.

        Args:
            changed: the streams that may have changed.
            run_changed: whether facts or owners may have changed.
        """
        seals = {stream.owner: stream.seal() for stream in changed}
        if run_changed or FACTS not in self._kept:  # new owners imply `run_changed`
            seals |= {o: stream.seal() for o, stream in state.streams.items() if o not in self._kept and o not in seals}
            seals |= {FACTS: _seal_of_facts(state), OWNERS: _seal_of_owners(state)}
        values: list[Value] = [part for item in seals.items() if self._kept.get(item[0]) != item[1] for part in item]
        self._kept |= seals
        return [*chunked("HSET", "seals", values, 2), Write("HSET", "state", ("sealed", tick))]

    def check(self, store: RunStore, state: RunState, tick: int) -> None:
        """Check the restored state, before unreadable entries are left out of it.

        Raises:
            RunAltered: if it differs from what the run's host wrote.
            JournalError: if it has no seals and the journal cannot be read.
        """
        sealed = store.field("state", "sealed")
        if sealed != b"%d" % tick or not store.client.exists(store.key("seals")):
            log.info("ledger.unsealed", run=state.run, tick=tick)
            wrong = list(_unlike_journal(store, state, tick))
        else:
            kept = store.mapping("seals")
            self._kept = {name.decode(): text.decode() for name, text in kept.items()}
            wrong = list(self._broken(state))
        if wrong:
            raise RunAltered(state.run, tick, wrong, why_keys_vanish(store.client))

    def _broken(self, state: RunState) -> Iterator[str]:
        if self._kept.get(FACTS) != _seal_of_facts(state):
            yield "facts"
        if self._kept.get(OWNERS) != _seal_of_owners(state):
            yield "owners"
        for owner, stream in sorted(state.streams.items()):
            yield from (f"{part} of {owner}" for part in broken_parts(stream.seal(), self._kept.get(owner, "")))


def _seal_of_facts(state: RunState) -> str:
    return digest_of(sorted(state.facts_at.items()))


def _seal_of_owners(state: RunState) -> str:
    return digest_of((sorted(state.profiles.items()), sorted(state.retired)))


def _unlike_journal(store: RunStore, state: RunState, tick: int) -> Iterator[str]:
    """Yield the parts of the state that differ from the state that the journal implies."""
    base = load_base(store)
    totals = base.totals if base is not None else RunTotals()
    streams = load_checkpoint_streams(store, base)
    for passed in pass_journal(store, totals.tick + 1, tick):
        redo(passed.line, streams)
        totals.add(passed.line)
    if wrong_facts(state.facts_at, totals):
        yield "facts"
    if state.profiles != totals.profiles:
        yield "owners"
    for owner in sorted(state.streams.keys() & streams.keys()):
        yield from (f"{owner}: {fault}" for fault in differences(state.streams[owner], streams[owner]))

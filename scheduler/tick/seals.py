"""Seals of a run's memory: by them a host checks, before it goes on, that the ledger still holds what was written.

With each tick its host writes a seal of every stream that changed, and of facts and owners when these did. Keys under
the run's prefix:
    seals  hash  owner -> seal of its stream (`cogitate.memory.seal`); ":facts" and ":owners" -> hash of these
    state  hash  sealed: the tick up to which the seals are kept up

Where the seals are missing or behind, the journal says what must be held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import structlog

from cogitate.memory.seal import broken_parts, digest_of
from cogitate.memory.stream import Stream
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.checkpoint import load_base, load_checkpoint_streams
from cogitate.scheduler.journal.history import pass_journal, redo
from cogitate.scheduler.journal.run_totals import RunTotals, wrong_facts
from cogitate.scheduler.ledger.errors import RunAltered
from cogitate.scheduler.ledger.eviction import why_keys_vanish
from cogitate.scheduler.ledger.ledger import Value, Write
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import chunked, differences

FACTS, OWNERS = ":facts", ":owners"  # no owner is called so

log = structlog.get_logger()


class Seals:
    """The seals that the ledger holds, as far as this host knows."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def take_writes(self, state: RunState, changed: Iterable[Stream], tick: int, *, run_changed: bool) -> list[Write]:
        """Return the commands that seal what a tick leads to.

        Args:
            changed: the streams that the tick changed.
            run_changed: whether the tick changed facts or owners too.
        """
        found = {stream.owner: stream.seal() for stream in changed}
        if run_changed or FACTS not in self._kept:  # owners come only with a change of the run
            found |= {o: stream.seal() for o, stream in state.streams.items() if o not in self._kept and o not in found}
            found |= {FACTS: _seal_of_facts(state), OWNERS: _seal_of_owners(state)}
        values: list[Value] = [part for item in found.items() if self._kept.get(item[0]) != item[1] for part in item]
        self._kept |= found
        return [*chunked("HSET", "seals", values, 2), Write("HSET", "state", ("sealed", tick))]

    def check(self, store: RunStore, state: RunState, tick: int) -> None:
        """Check the state that was read back, before anything is left out of it.

        Raises:
            RunAltered: when it is not what the run's host wrote.
            JournalError: when there are no seals of it, and the journal cannot be read either.
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
    """Yield the parts of the state that differ from what the journal leads to."""
    base = load_base(store)
    totals = base.totals if base is not None else RunTotals()
    streams = load_checkpoint_streams(store, base) if base is not None else {}
    for passed in pass_journal(store, totals.tick + 1, tick):
        redo(passed.line, streams)
        totals.add(passed.line)
    if wrong_facts(state.facts_at, totals):
        yield "facts"
    if state.profiles != totals.profiles:
        yield "owners"
    for owner in sorted(state.streams.keys() & streams.keys()):
        yield from (f"{owner}: {found}" for found in differences(state.streams[owner], streams[owner]))

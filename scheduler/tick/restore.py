"""Reading a run back from the ledger into a host's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redis.exceptions import ResponseError

from cogitate.memory import typed_json
from cogitate.memory.profile import Profile
from cogitate.memory.unreadable import leave_out, unreadable
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.engine.open_jobs import load_open_jobs
from cogitate.scheduler.engine.part import Part
from cogitate.scheduler.engine.run_data import LoopState, Streams
from cogitate.scheduler.engine.run_state import RunState
from cogitate.scheduler.journal.unreadable_entries import check_kind_wrote
from cogitate.scheduler.ledger.errors import LedgerError, RunUnreadable
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.streams import load_streams
from cogitate.scheduler.ledger.world_state import load_world
from cogitate.scheduler.tick.seals import Seals


class Restored(NamedTuple):
    """The position of a run: its last committed tick, and what that left behind."""

    tick: int
    digest: str
    chain: str
    checkpoint: bytes | None  # the world's state
    checkpoint_tick: int
    windows: set[str]
    seals: Seals


def restore(ledger: HostLedger, state: RunState, parts: Sequence[Part]) -> Restored:
    """Fill `state` from the ledger, and return where the run stands; a new run is empty.

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

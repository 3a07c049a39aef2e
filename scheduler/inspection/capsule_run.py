"""Write a capsule's run to an empty Redis, so every reader of runs can read it.

The journal supplies everything: memories, facts, limits, and the spending of each budget window. Data that a journal
does not contain, such as open attempts and the figures of the host's process, is missing.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.scheduler.budget.budget import Cell, amounts
from cogitate.scheduler.budget.limit_history import LimitHistory
from cogitate.scheduler.config.controls import Mode, SetCadence, SetLimit, SetMode
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.facts import check_kept, kept_settings
from cogitate.scheduler.config.limits import UNITS
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.journal.capsule.container import CapsuleError
from cogitate.scheduler.journal.capsule.verifying import Capsule, Rebuilt
from cogitate.scheduler.journal.exported import ExportedEntry
from cogitate.scheduler.journal.lines import ReadLine, pack_line
from cogitate.scheduler.journal.run_totals import RunTotals, spending
from cogitate.scheduler.ledger.ledger import HostLedger, Value
from cogitate.scheduler.ledger.run_store import RunKey, RunStore
from cogitate.scheduler.ledger.streams import write_streams
from cogitate.scheduler.steering.postponing import Postponing
from cogitate.scheduler.steering.steering import MOST_ANSWERS, SteeringState
from cogitate.scheduler.steering.throttle import ThrottleState
from cogitate.tasks.job import Cost, JobKey

STATUS = "capsule"  # the status of a restored run; it has no host
PAGE = 200  # lines per round trip


def restore_run(capsule: Capsule, client: Redis, name: str) -> Rebuilt:
    """Verify a capsule, and write its run to a Redis that nothing else uses.

    Args:
        name: the run's name in that Redis.

    Returns:
        The state that the capsule's journal rebuilds.

    Raises:
        CapsuleError, JournalError: if the capsule differs from its manifest, or has settings that no run stores.
    """
    settings = _checked_settings(capsule)
    state: dict[str, Value] = {"settings": settings, "describe": json.dumps(capsule.manifest.description)}
    if capsule.manifest.latency_prior is not None:
        state["latency_prior"] = msgspec.json.encode(capsule.manifest.latency_prior)
    if capsule.manifest.origin is not None:
        state["origin"] = msgspec.json.encode(capsule.manifest.origin)
    store = HostLedger.create(client, name, state=state).store
    rebuilt, standing = Rebuilt(), _Standing(LimitHistory(kept_settings(settings, PinnedSettings()).limit_table()))
    for step in capsule.steps(_copied(capsule.entries(), store)):
        rebuilt.add(step)
        standing.add(step.line)
    capsule.check(rebuilt)
    write_streams(store, rebuilt.streams.values())
    _write(store, "owners", {owner: msgspec.json.encode(profile) for owner, profile in rebuilt.profiles.items()})
    standing.write(store)
    now: dict[str, Value] = {
        "tick": rebuilt.ticks,
        "digest": rebuilt.digest,
        "chain": rebuilt.chain,
        "status": STATUS,
        "host": "",
    }
    _write(store, "state", now)
    return rebuilt


def _checked_settings(capsule: Capsule) -> bytes:
    """Return the run's stored settings. Its endpoints need not exist on this machine, because no model is called."""
    raw = capsule.settings
    try:
        kept = typed_json.decode(raw, dict[str, Any])
        named = [*dict(kept.get("models") or {}).values(), kept.get("embeddings")]
        tables = [table for table in named if isinstance(table, dict) and "endpoint" in table]
        endpoints = {str(table["endpoint"]): Endpoint() for table in tables}
        check_kept(raw, PinnedSettings(endpoints=endpoints))
    except (ValueError, TypeError) as error:
        raise CapsuleError(f"{capsule.path} cannot be read: its settings: {error}") from error
    return raw


def _copied(entries: Iterable[ExportedEntry], store: RunStore) -> Iterator[ExportedEntry]:
    """Yield each entry of a journal, after writing it or adding it to the next page."""
    page: list[bytes] = []
    tick = 0
    for entry in entries:
        if body := bytes(entry.line):
            tick += 1
            page.append(pack_line(entry.chain, body))
        else:
            _write(store, "journal_checkpoints", {str(tick): entry.chain.encode() + b" " + bytes(entry.checkpoint)})
        if len(page) >= PAGE:
            store.client.rpush(store.key("journal"), *page)
            page.clear()
        yield entry
    if page:
        store.client.rpush(store.key("journal"), *page)


class _Standing:
    """The fields of a run's state, except memories, that its journal lines determine."""

    def __init__(self, limits: LimitHistory) -> None:
        self._totals = RunTotals()
        self._limits = limits
        self._throttle = ThrottleState()
        self._mode: Mode = "running"
        self._answers: deque[bytes] = deque(maxlen=MOST_ANSWERS)  # to operators
        self._left: dict[str, int] = {}
        self._cells: dict[JobKey, tuple[Cell, ...]] = {}
        self._accounts: dict[str, Counter[str]] = {}  # by window

    def add(self, line: ReadLine) -> None:
        """Add the next tick."""
        core, notes = line.core, line.notes
        self._totals.add(line)
        self._left |= dict.fromkeys(core.left, core.tick)
        self._cells |= {grant.key: grant.cells for grant in notes.opened}
        for spent in spending(notes):
            self._book(spent.key, "spent", spent.cost)
        for note in notes.ended:
            self._book(note.key, "pool", note.retried)
        for retried in notes.retried:
            self._book(retried.key, "pool", retried.used)
        self._answers += map(msgspec.json.encode, notes.answers)
        for control in core.controls:
            match control:
                case SetLimit():
                    self._limits = self._limits.with_limit(
                        control.name, control.value, tick=core.tick, minute=core.minute
                    )
                case SetCadence():
                    changed = {"factor": control.factor, "pinned": control.pinned}
                    self._change(**{name: value for name, value in changed.items() if value is not None})
                case SetMode():
                    self._mode = control.mode
        if core.stepped is not None:
            self._change(factor=core.stepped.factor)
        if core.postponed:
            self._change(postponed=self._throttle.postponed + len(core.postponed))

    def _book(self, key: JobKey, account: str, cost: Cost) -> None:
        for cell in self._cells.get(key, ()) if cost != Cost() else ():
            if _is_over(cell.window):
                continue
            accounts = self._accounts.setdefault(cell.window, Counter())
            for unit, amount in zip(UNITS, amounts(cost), strict=True):
                if amount:
                    accounts[f"{cell.scope}|{unit}|{account}"] += amount

    def _change(self, **changed: Any) -> None:
        self._throttle = msgspec.structs.replace(self._throttle, **changed)

    def write(self, store: RunStore) -> None:
        """Write these fields to a new run."""
        steering = SteeringState(mode=self._mode, limits=self._limits.changes, throttle=self._throttle)
        kept = {"steering": msgspec.json.encode(steering), "postponed": msgspec.json.encode(Postponing())}
        _write(store, "state", kept)
        _write(store, "facts", {str(tick): msgspec.json.encode(facts) for tick, facts in self._totals.facts.items()})
        _write(store, "retired", self._left)
        _write(store, "view", {name: value for name, value in self._totals.view.items() if not _is_over(name)})
        if self._answers:
            store.client.rpush(store.key("answers"), *self._answers)
        with store.pipeline() as pipeline:
            for window, accounts in self._accounts.items():
                pipeline.sadd(store.key("windows"), window)
                for account, amount in accounts.items():
                    pipeline.hset(store.window_key(window), account, amount)
            pipeline.execute()


def _write(store: RunStore, name: RunKey, fields: Mapping[str, Value]) -> None:
    with store.pipeline() as pipeline:
        for field, value in fields.items():
            pipeline.hset(store.key(name), field, value)
        pipeline.execute()


def _is_over(window: str) -> bool:
    """Return whether a budget window covers a single tick; the ledger deletes such a window after its tick."""
    return window.startswith("tick:")

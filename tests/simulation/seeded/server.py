"""The server of one Python process, and the product with simulated clock, model and nonces in the place of real ones.

"Its last persisted state": the server keeps nothing on disk here. Instead all keys are copied, in one step, to a second
database at the instant that stands for the last sync of its append-only file; a restart puts that copy in the place of
what was written since, forgets all scripts, and breaks the calls that are on their way. Nothing written since the copy
is there any more: `appendfsync everysec` after a power loss; with no step in between, `always`.
"""

from __future__ import annotations

import contextlib
import gc
import secrets
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import patch

import redis.client
import structlog
from redis import Redis
from redis.connection import UnixDomainSocketConnection
from redis.exceptions import ResponseError

import cogitate.hosting.inline
import cogitate.hosting.tick_loop
import cogitate.scheduler.config.facts
import cogitate.scheduler.ledger.batches
import cogitate.scheduler.ledger.claims
import cogitate.scheduler.ledger.ledger
import cogitate.scheduler.tick.loop
import cogitate.workers.gate.gate
import cogitate.workers.jobs.attempt
import cogitate.workers.jobs.batches.desk
import cogitate.workers.jobs.batches.parking
import cogitate.workers.jobs.call_layers
import cogitate.workers.jobs.judging
import cogitate.workers.jobs.packs.packing
import cogitate.workers.jobs.runner
import cogitate.workers.jobs.service_tiers
import cogitate.workers.jobs.stored_texts
from cogitate.hosting.inline import InlinePublisher
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger import keys
from cogitate.scheduler.ledger.keys import _PRELUDES, script
from cogitate.tasks.job import Job
from cogitate.workers import lua
from cogitate.workers.gate.endpoint_reports import Report, Reports
from cogitate.workers.gate.gate import Refused
from cogitate.workers.jobs.call import Ask, Call
from cogitate.workers.jobs.call_layers import Sharing
from cogitate.workers.jobs.heartbeat import Heartbeat
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.simulation.seeded.actors import (
    SimulatedCondition,
    SimulatedEvent,
    SimulatedFlag,
    SimulatedFuture,
    SimulatedThread,
    SimulatedTime,
    current,
)
from tests.simulation.seeded.altered import in_script
from tests.simulation.seeded.batches import SIMULATED_DESK, LoudLog, SimulatedFiles
from tests.simulation.seeded.model import SimulatedModel, WatchedTiers
from tests.simulation.seeded.watched_packs import watched_pack
from tests.simulation.seeded.wire import SimulatedConnection, client_of

_COPY_ALL = """
redis.call('SELECT', 2)
redis.call('FLUSHDB', 'SYNC')
redis.call('SELECT', 0)
for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 2) end
"""


class Server:
    """A private Valkey and three ways to it."""

    def __init__(self, embedded: EmbeddedServer) -> None:
        self.plain = client_of(UnixDomainSocketConnection, embedded.socket)  # past the simulated wire
        self.client = client_of(SimulatedConnection, embedded.socket)
        self.beside = client_of(UnixDomainSocketConnection, embedded.socket, db=1)  # for replays
        self._persisted = self.plain.register_script(_COPY_ALL)
        self._knows_scripts = False
        self.name_verbs()
        self.plain.config_set("appendonly", "no")
        self.plain.config_set("save", "")

    def clear(self) -> None:
        """Hold nothing, but know all scripts: who calls one first must not depend on the seeds before."""
        self.plain.flushall()
        if not self._knows_scripts:
            with self.plain.pipeline(transaction=False) as pipeline:
                for text in (*map(keys.source, _PRELUDES), *map(lua.source, lua.NAMES)):
                    pipeline.script_load(text)
                pipeline.execute()
            self._knows_scripts = True

    def name_verbs(self) -> None:
        """Recognise the ledger's scripts, as they are now, on the wire."""
        SimulatedConnection.verbs = {script(self.plain, name).sha.encode(): name for name in _PRELUDES}
        self._knows_scripts = False

    def persist(self) -> None:
        """Save the present data, so that it survives a restart."""
        self._persisted()

    def restart(self) -> None:
        """Come back with what has been persisted."""
        self.plain.swapdb(0, 2)
        self.plain.script_flush()
        self._knows_scripts = False

    def carry_out(self, packed: list[bytes]) -> None:
        """Do a call that nobody waits for."""
        connection = self.plain.connection_pool.get_connection()
        try:
            connection.send_packed_command(packed)
            with contextlib.suppress(ResponseError):
                connection.read_response()
        finally:
            self.plain.connection_pool.release(connection)


@contextlib.contextmanager
def simulating() -> Iterator[Server]:
    """Run a server, and have the product in this process live in the simulation."""
    with TemporaryDirectory(prefix="cogitate-") as folder, contextlib.ExitStack() as undo:
        undo.callback(structlog.reset_defaults)
        be_silent()
        undo.enter_context(in_script("batches", *SIMULATED_DESK))
        embedded = undo.enter_context(EmbeddedServer(Path(folder)))
        for timed in (
            cogitate.workers.jobs.attempt,
            cogitate.workers.jobs.batches.desk,
            cogitate.workers.jobs.batches.parking,
            cogitate.workers.jobs.judging,
            cogitate.workers.jobs.runner,
            cogitate.workers.jobs.service_tiers,
            cogitate.workers.gate.gate,
            cogitate.scheduler.tick.loop,
        ):
            undo.enter_context(patch.object(timed, "time", SimulatedTime))
        for waiting in (cogitate.workers.jobs.runner, cogitate.scheduler.tick.loop):
            undo.enter_context(
                patch.object(
                    waiting,
                    "threading",
                    SimpleNamespace(Event=SimulatedEvent, Thread=threading.Thread, RLock=threading.RLock),
                )
            )
        packing = cogitate.workers.jobs.packs.packing
        locks = SimpleNamespace(Event=SimulatedFlag, Lock=threading.Lock)
        for name, stands_in in {"time": SimulatedTime, "threading": locks, "Future": SimulatedFuture}.items():
            undo.enter_context(patch.object(packing, name, stands_in))
        undo.enter_context(patch.object(packing, "ask_together", watched_pack))
        desk = cogitate.workers.jobs.batches.desk
        stand_ins = {
            "threading": SimpleNamespace(Condition=SimulatedCondition),
            "LazyThread": SimulatedThread,
            "BatchFiles": SimulatedFiles,
            "log": LoudLog(),
        }
        for name, stands_in in stand_ins.items():
            undo.enter_context(patch.object(desk, name, stands_in))
        undo.enter_context(patch.object(cogitate.workers.gate.gate, "Reports", _Untold))
        undo.enter_context(patch.object(cogitate.workers.jobs.runner, "ModelClients", SimulatedModel))
        undo.enter_context(patch.object(cogitate.workers.jobs.call_layers, "Sharing", _Alone))
        undo.enter_context(patch.object(cogitate.workers.jobs.call_layers, "ServiceTiers", WatchedTiers))
        undo.enter_context(patch.object(cogitate.hosting.inline, "Heartbeat", _Still))
        undo.enter_context(patch.object(cogitate.hosting.inline, "InlinePublisher", _publisher))
        undo.enter_context(patch.object(cogitate.hosting.tick_loop, "check_model", lambda settings: None))
        # Reading the environment is slow.
        undo.enter_context(patch.object(cogitate.scheduler.config.facts, "Settings", cache(Settings)))
        ledger = cogitate.scheduler.ledger
        for module in (ledger.batches, ledger.claims, ledger.ledger):
            undo.enter_context(patch.object(module, "new_nonce", _nonce))
        undo.enter_context(patch.object(cogitate.hosting.tick_loop, "logs", SimpleNamespace(quiet=lambda: None)))
        # What redis-py does for its own measurements, and for a command that is not used here.
        undo.enter_context(patch.object(redis.client, "record_operation_duration", lambda **measured: None))
        undo.enter_context(patch.object(redis.client, "parse_himport_set_args", lambda args: None))
        server = Server(embedded)
        for client in (server.plain, server.client, server.beside):
            undo.callback(client.connection_pool.disconnect)
        undo.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(50_000)  # a seed makes much garbage, and few cycles
        yield server


def be_silent() -> None:
    """Log nothing: millions of simulated faults are nobody's."""
    structlog.configure(wrapper_class=_Silent, cache_logger_on_first_use=False)


def _nonce() -> str:
    actor = current()
    return f"{actor.schedule.nonces.getrandbits(64):016x}" if actor is not None else secrets.token_hex(8)


class _Nobody:
    """Runs no job: hosts of the simulated cluster publish to its broker."""

    def publish(self, jobs: Sequence[Job]) -> int:
        return 0

    def close(self) -> None:
        pass


def _publisher(client: Redis, settings: Settings) -> InlinePublisher | _Nobody:
    return InlinePublisher(client, settings) if current() is None else _Nobody()


class _Still(Heartbeat):
    """The heart of a worker that nobody waits for."""

    @contextlib.contextmanager
    def of(self, run: str, incarnation: str) -> Iterator[None]:
        yield


class _Untold(Reports):
    """How calls ended is not told to the gate: it goes by the server's own clock, which nobody here moves."""

    def add(self, report: Report) -> None:
        pass

    tell = add


class _Alone(Sharing):
    """Every call is made: simulated threads wait for the simulation, not for one another."""

    def ask(self, call: Call, following: Ask) -> ModelAnswer | Refused:
        return following(call)


class _Silent(structlog.stdlib.BoundLogger):
    """A logger that says nothing."""

    def _proxy_to_logger(self, *args: object, **fields: object) -> None:  # type: ignore[override]
        return None

"""The presence of a run's host: a heartbeat that a thread of the host renews in the ledger.

It informs people, and hosts that are about to take a run from a live host. No guarantee depends on it: the fence
separates two hosts that both believe they hold the run, whatever their clocks say.

The heartbeat names the host's process. On the same machine, readers check the process, so they notice a killed host at
once; on another machine, a host counts as gone once its heartbeat is older than the lease.
"""

from __future__ import annotations

import os
import platform
import threading
from functools import lru_cache
from pathlib import Path

import msgspec
import structlog
from redis.exceptions import RedisError

from cogitate.memory import typed_json
from cogitate.scheduler.ledger.errors import RunHeld
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.run_store import RunStore

log = structlog.get_logger()

LEAST = 1.0  # seconds: the shortest lease of a heartbeat
SIGNS_A_LEASE = 4  # heartbeats per lease
HELD = ("running", "paused")  # statuses of a run that a host has not left


class HostProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The process of a host."""

    name: str  # of its machine
    machine: str  # identifies the machine and its process namespace
    pid: int
    began: str  # start time of the process in its machine's units; "" if unknown
    share: int = 1  # jobs of its run that shared workers take for each job of another run

    def text(self) -> str:
        return f"{self.name}:{self.pid}"


def this_process() -> HostProcess:
    return process_of(os.getpid())


def process_of(pid: int) -> HostProcess:
    return HostProcess(name=platform.node(), machine=_machine(), pid=pid, began=_began(pid) or "")


def host_of(store: RunStore) -> HostProcess | None:
    """Return the host that holds a run; None if there is none, or it is gone."""
    status = store.field("state", "status")
    if status is None or status.decode() not in HELD:
        return None
    raw = store.client.get(store.key("host"))
    try:
        host = typed_json.decode(raw, HostProcess) if raw is not None else None
    except msgspec.DecodeError:
        return None  # no version writes such a value
    return host if host is not None and exists(host) else None


def format_state(status: str, held: bool) -> str:
    """Return a run's status, marked if its host vanished without leaving the run."""
    return f"{status}, no host" if status in HELD and not held else status


def check_unheld(store: RunStore, run: str, what_to_do: str) -> None:
    """Refuse a run that has an active host.

    Args:
        what_to_do: the alternative that the message names after "stop it first, or".

    Raises:
        RunHeld: naming the host.
    """
    host = host_of(store)
    if host is not None:
        here = " (this process)" if is_here(host) and host.pid == os.getpid() else ""
        raise RunHeld(
            f"run {run!r} is held by the host {host.text()}{here}, which is active: stop it first, or {what_to_do}"
        )


class Presence:
    """Renews the heartbeat of a run's host in a thread, until it is stopped or another host has the run."""

    def __init__(self, ledger: HostLedger, lease: float, share: int = 1) -> None:
        self._ledger = ledger
        self._lease = max(lease, LEAST)
        self._sign = msgspec.json.encode(msgspec.structs.replace(this_process(), share=share))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        """Send the first heartbeat, then continue in the thread."""
        if self._renewed():
            self._thread.start()

    def stop(self) -> None:
        """Send no further heartbeat; the last one expires with its lease, or ends with the run's status."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(LEAST)

    def _run(self) -> None:
        while not self._over.wait(self._lease / SIGNS_A_LEASE) and self._renewed():
            pass

    def _renewed(self) -> bool:
        """Send a heartbeat, and return whether to send another."""
        try:
            return self._ledger.present(self._sign, self._lease)
        except (RedisError, OSError, ValueError) as error:  # the loop gets the error too, and reports it
            log.debug("presence.missed", run=self._ledger.run, error=type(error).__name__)
            return True


def is_here(process: HostProcess) -> bool:
    """Return whether a process exists on this machine."""
    return process.machine == _machine() and exists(process)


def exists(process: HostProcess) -> bool:
    """Return whether a process exists; True for a process on another machine."""
    if process.machine != _machine():
        return True  # only the expiry of its heartbeat shows that it is gone
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # the process belongs to another user
    began = _began(process.pid)
    return began is None or began == process.began


def _began(pid: int) -> str | None:
    """Return the start time of a process in clock ticks since the boot; "" for a zombie, None if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return "" if fields[0] in "ZX" else fields[19]


@lru_cache(maxsize=1)
def _machine() -> str:
    parts = [platform.node()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        pass  # not Linux: the name must suffice
    return " ".join(parts)

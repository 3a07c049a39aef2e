"""The wire between simulated processes and the server: every call of redis-py passes here, below commands and scripts.

Before each call is sent and after it was carried out control goes back to the scheduler. In between the server is real.
redis-py's own retries run above this, so a lost reply is answered by the identical bytes, as in production.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol

from hiredis import pack_command
from redis import Redis
from redis.backoff import NoBackoff
from redis.connection import ConnectionPool, UnixDomainSocketConnection
from redis.retry import Retry

from tests.simulation.seeded.actors import Actor, current

SOCKET_TIMEOUT = 2.0  # seconds
RETRIES = 3  # as scheduler/ledger/connect.py has it
_SHA = b"EVALSHA\r\n$40\r\n"


class Network(Protocol):
    """What may happen to a call."""

    def before(self, actor: Actor, packed: list[bytes]) -> None:
        """The call is about to be sent; an error means that the client never learns what became of it."""

    def after(self, actor: Actor) -> None:
        """The server has carried it out; an error means that the reply is lost."""


class SimulatedConnection(UnixDomainSocketConnection):
    """Tells the network of each call, and lets a blocking pop wait on the simulated clock."""

    network: ClassVar[Network | None] = None
    verbs: ClassVar[dict[bytes, str]] = {}  # by digest of the script

    def __init__(self, **options: Any) -> None:
        self._answered = True
        self._blocking: tuple[Any, ...] | None = None
        super().__init__(**options)

    def send_command(self, *args: Any, **options: Any) -> None:
        if args[0] == "BLPOP" and current() is not None:
            self._blocking = args
            return
        super().send_command(*args, **options)

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        actor = current()
        if actor is None or self.network is None:
            super().send_packed_command(command, check_health)
            return
        packed = [command] if isinstance(command, (bytes, str)) else list(command)
        actor.at = self.verb_of(packed)
        self._answered = True
        self.network.before(actor, packed)
        super().send_packed_command(packed, check_health)
        self._answered = False

    def read_response(self, *arguments: Any, **options: Any) -> Any:
        if self._blocking is not None:
            return self._wait()
        reply = super().read_response(*arguments, **options)
        if not self._answered:
            self._answered = True
            actor = current()
            if actor is not None and self.network is not None:
                try:
                    self.network.after(actor)
                except BaseException:
                    self.disconnect()  # the rest of a pipeline's replies is still to come
                    raise
        return reply

    def _wait(self) -> Any:
        """BLPOP: look whenever somebody may have pushed, until the time is over."""
        assert self._blocking is not None
        _, key, timeout = self._blocking
        self._blocking = None
        actor = current()
        assert actor is not None
        over = actor.schedule.now + float(timeout)
        self.send_command("LPOP", key)
        actor.at = "wait"
        found = self.read_response()
        while found is None and actor.schedule.now < over:
            actor.at = "wait"
            actor.pause(over)
            super().send_packed_command(self.pack_command("LPOP", key))  # the server's own look, not the client's
            found = super().read_response()
        return None if found is None else [key, found]

    @classmethod
    def verb_of(cls, packed: list[bytes]) -> str:
        """Return the ledger's verb of a call; "read" for anything else."""
        head = packed[0][:40]
        at = head.find(_SHA)
        if at < 0:
            return "read"
        start = at + len(_SHA)
        return cls.verbs.get(packed[0][start : start + 40], "read")


class Packer:
    """Packs a command that is made of plain values only, as all of ours are."""

    @staticmethod
    def pack(name: str, *args: Any) -> list[bytes]:
        """Return the bytes that are sent."""
        return [pack_command((*name.split(), *args))]


class PlainPool(ConnectionPool):
    """A pool for one thread of Python, without redis-py's locks, looks at sockets and measurements."""

    def get_connection(self, command_name: Any = None, *keys: Any, **options: Any) -> Any:
        connection = self._available_connections.pop() if self._available_connections else self.make_connection()
        connection.connect()
        return connection

    def release(self, connection: Any) -> None:
        self._available_connections.append(connection)


def client_of(kind: type[UnixDomainSocketConnection], socket: Path, db: int = 0) -> Redis:
    """Return a client of the server on that socket, with connections of that class."""
    return Redis(
        connection_pool=PlainPool(
            connection_class=kind,
            path=str(socket),
            db=db,
            socket_timeout=SOCKET_TIMEOUT,
            retry=Retry(NoBackoff(), RETRIES),
            driver_info=None,
            protocol=2,
            command_packer=Packer(),
        )
    )

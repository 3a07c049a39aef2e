"""A Redis client that batches the scripts of many threads: one thread sends the commands of all that are waiting.

A separate round trip costs each thread a pooled connection, four system calls and several switches of Python's
interpreter lock. With hundreds of jobs that is a large part of a worker's time.
"""

from __future__ import annotations

import threading
from copy import copy
from typing import Any

from hiredis import pack_command
from redis import Redis
from redis.commands.core import Script
from redis.exceptions import ConnectionError, ResponseError
from redis.typing import EncodableT

from cogitate.scheduler.ledger.servers.routing import LoadedWhereCalled


class _Command:
    """A thread's command and its answer."""

    def __init__(self, words: tuple[EncodableT, ...]) -> None:
        self.words = words
        self.answer: object = None
        self.error: Exception | None = None
        self.sent = False
        self.turn = threading.Lock()  # held until the command is answered, or its thread must send the waiting batch
        self.turn.acquire()


class CombinedRedis(Redis):
    """A client that sends scripts in batches and other commands as usual. Thread-safe; create it after any fork.

    While the server is down, a thread may wait for two rounds of the client's timeouts and retries: those of the batch
    before its own, and those of its own batch.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._guard = threading.Lock()
        self._waiting: list[_Command] = []
        self._sending = False
        self._line: Any = None  # the connection, which belongs to the sending thread

    def register_script(self, script: Any) -> Script:
        """Return a script of this client."""
        return LoadedWhereCalled(self, script)

    def execute_command(self, *words: EncodableT, **options: object) -> Any:
        """Run a command and return its answer.

        Raises:
            RedisError: from the server or the connection.
        """
        if words[0] != "EVALSHA":
            return super().execute_command(*words, **options)  # type: ignore[no-untyped-call]
        command = _Command(words)
        with self._guard:
            self._waiting.append(command)
            others_send, self._sending = self._sending, True
        if others_send:
            command.turn.acquire()
        if not command.sent:
            self._send_waiting()
        if command.error is not None:
            raise command.error
        return command.answer

    def _send_waiting(self) -> None:
        with self._guard:
            commands, self._waiting = self._waiting, []
        for command in commands:
            command.error = ConnectionError("the thread that sent this command was interrupted")
        try:
            self._exchange(commands)
        except Exception as error:
            for command in commands:
                command.error = copy(error)  # each thread raises its own
        finally:
            with self._guard:
                following = self._waiting[0] if self._waiting else None
                self._sending = following is not None
            for command in commands:
                command.sent = True
                command.turn.release()
            if following is not None:
                following.turn.release()

    def _exchange(self, commands: list[_Command]) -> None:
        """Send commands and read their answers; resend all after a lost connection, since scripts are idempotent."""
        if self._line is None:
            self._line = self.connection_pool.get_connection()
        line, packed = self._line, b"".join([pack_command(command.words) for command in commands])  # type: ignore[arg-type]  # of any length

        def attempt() -> None:
            if not line.is_connected:
                line.connect()  # with Sentinel, only this asks for the primary
            line.send_packed_command([packed])
            for command in commands:
                try:
                    command.answer, command.error = line.read_response(), None
                except ResponseError as error:
                    command.error = error

        line.retry.call_with_retry(attempt, lambda _: line.disconnect())

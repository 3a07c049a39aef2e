"""Scripts of many threads over one connection: whoever finds nobody sending sends all that wait, in one round trip.

A round trip of its own costs each thread a connection of the pool, four system calls and as many turns at Python's
interpreter. Where hundreds of jobs run, that is a good part of a worker's time.
"""

from __future__ import annotations

import threading
from copy import copy
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError


class _Command:
    """A thread's command, and what came of it."""

    def __init__(self, words: tuple[Any, ...]) -> None:
        self.words = words
        self.answer: Any = None
        self.error: BaseException | None = None
        self.sent = False
        self.turn = threading.Lock()  # held until the command was sent, or its thread has to send what waits
        self.turn.acquire()


class CombinedRedis(Redis):
    """A client that sends scripts together, and everything else as usual. Thread-safe; make it after any fork.

    While the server is away a thread can wait twice as long as the client's timeouts and retries say: for those before
    it, and for its own.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._guard = threading.Lock()
        self._waiting: list[_Command] = []
        self._sending = False
        self._line: Any = None  # the connection; belongs to the thread that is sending

    def execute_command(self, *words: Any, **options: Any) -> Any:
        """Run a command and return its answer.

        Raises:
            RedisError: as the server or the connection says.
        """
        if words[0] != "EVALSHA":
            return super().execute_command(*words, **options)  # type: ignore[no-untyped-call]
        mine = _Command(words)
        with self._guard:
            self._waiting.append(mine)
            others_send, self._sending = self._sending, True
        if others_send:
            mine.turn.acquire()
        if not mine.sent:
            self._send_waiting()
        if mine.error is not None:
            raise mine.error
        return mine.answer

    def _send_waiting(self) -> None:
        with self._guard:
            commands, self._waiting = self._waiting, []
        try:
            self._exchange(commands)
        except BaseException as error:
            for command in commands:
                command.error = copy(error)  # each is raised in a thread of its own
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
        """Send commands and read their answers; all again where the connection fails, as scripts may be sent again."""
        if self._line is None:
            self._line = self.connection_pool.get_connection()
        line = self._line

        def attempt() -> None:
            line.send_packed_command(line.pack_commands([command.words for command in commands]))
            for command in commands:
                try:
                    command.answer, command.error = line.read_response(), None
                except ResponseError as error:
                    command.error = error

        line.retry.call_with_retry(attempt, lambda _: line.disconnect())

"""The part of a client of several servers that does not depend on how keys find theirs: scripts and pipelines."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from redis import Redis
from redis.client import Pipeline
from redis.commands.core import Script
from redis.exceptions import NoScriptError, RedisError


class SeveralServers(Redis):
    """A client of several servers with the interface of a client of one; all keys of a run are on one of them."""

    #: Answers after which a command of a pipeline is sent again by itself, to the server that has its key by then.
    MOVED: ClassVar[tuple[type[Exception], ...]]

    @abstractmethod
    def place_of_key(self, key: Any) -> str:
        """Return the name of the server that has a key.

        Raises:
            RedisError: when none has it, or none answers.
        """

    @abstractmethod
    def execute_together(self, commands: Sequence[Any], scripts: set[Script], *, transaction: bool) -> list[Any]:
        """Return the answers to commands whose keys are on one server; errors of the server are among them.

        Raises:
            RedisError: when the server cannot be reached.
        """

    def register_script(self, script: Any) -> Script:
        """Return a script that any server loads when it is called."""
        return LoadedWhereCalled(self, script)

    def pipeline(self, transaction: bool = True, shard_hint: object = None) -> Pipeline:
        """Return a pipeline, in a transaction if all its keys are of one run."""
        return _Pipeline(self, transaction)

    def execute_at_once(self, commands: Sequence[Any], scripts: set[Script], *, transaction: bool) -> list[Any]:
        """Return the answers to a pipeline's commands, in their order; errors of the servers are among them.

        Raises:
            RedisError: when a server cannot be reached.
        """
        places: defaultdict[str, list[int]] = defaultdict(list)  # positions of the commands, by server
        for position, (words, _) in enumerate(commands):
            places[self.place_of_key(key_of(words))].append(position)
        answers: list[Any] = [None] * len(commands)
        for positions in places.values():
            own = [commands[position] for position in positions]
            found = self.execute_together(own, scripts, transaction=transaction)
            for position, answer in zip(positions, found, strict=True):
                answers[position] = answer
        for position, (words, options) in enumerate(commands):
            if isinstance(answers[position], self.MOVED):
                try:
                    answers[position] = self.execute_command(*words, **options)  # type: ignore[no-untyped-call]
                except RedisError as error:
                    answers[position] = error
        return answers


class LoadedWhereCalled(Script):
    """A script, which the server that is called loads if it does not know it: one that has taken over knows none.

    redis-py's own class asks at each call what its client is, which takes longer than to write the command.
    """

    def __call__(self, keys: Any = None, args: Iterable[Any] | None = None, client: Any = None) -> Any:
        if client is not None:  # a pipeline loads its scripts
            return super().__call__(keys, args, client)
        words = (len(keys or ()), *(keys or ()), *(args or ()))
        call: Callable[..., Any] = self.registered_client.execute_command
        try:
            return call("EVALSHA", self.sha, *words)
        except NoScriptError:
            return call("EVAL", self.script, *words)


class _Pipeline(Pipeline):
    def __init__(self, servers: SeveralServers, transaction: bool) -> None:
        super().__init__(servers.connection_pool, servers.response_callbacks, transaction, None)
        self._servers = servers

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Send the commands, and return the answers."""
        commands, scripts = self.command_stack, self.scripts
        self.reset()
        answers = self._servers.execute_at_once(commands, scripts, transaction=bool(self.transaction))
        if raise_on_error:
            self.raise_first_error(commands, answers)  # type: ignore[no-untyped-call]
        return answers


def key_of(words: Sequence[Any]) -> Any:
    """Return the first key of a command."""
    return words[3] if words[0] in ("EVALSHA", "EVAL") else words[1]


def sent_to(server: Redis, commands: Sequence[Any], scripts: set[Script], *, transaction: bool) -> list[Any]:
    """Send a pipeline's commands to one server, and return the answers; errors of the server are among them.

    Raises:
        RedisError: when the server cannot be reached.
    """
    with server.pipeline(transaction=transaction) as pipeline:
        pipeline.command_stack, pipeline.scripts = list(commands), set(scripts)
        return pipeline.execute(raise_on_error=False)

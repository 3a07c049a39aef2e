"""Scripts and pipelines of a client of several servers, independent of how the client routes keys."""

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

    #: Errors after which a pipeline's command is sent again, alone, to the server that then has its key.
    MOVED: ClassVar[tuple[type[Exception], ...]]

    @abstractmethod
    def place_of_key(self, key: Any) -> str:
        """Return the name of the server that has a key.

        Raises:
            RedisError: if none has it, or none answers.
        """

    @abstractmethod
    def execute_together(self, commands: Sequence[Any], scripts: set[Script], *, transaction: bool) -> list[Any]:
        """Return the answers, including errors of the server, to commands whose keys are on one server.

        Raises:
            RedisError: if the server cannot be reached.
        """

    def register_script(self, script: Any) -> Script:
        """Return a script that each server loads when it is called there."""
        return LoadedWhereCalled(self, script)

    def pipeline(self, transaction: bool = True, shard_hint: object = None) -> Pipeline:
        """Return a pipeline; `transaction` requires that all its keys belong to one run."""
        return _Pipeline(self, transaction)

    def execute_at_once(self, commands: Sequence[Any], scripts: set[Script], *, transaction: bool) -> list[Any]:
        """Return the answers, including errors of the servers, to a pipeline's commands, in their order.

        Raises:
            RedisError: if a server cannot be reached.
        """
        places: defaultdict[str, list[int]] = defaultdict(list)  # positions of the commands, by server
        for position, (words, _) in enumerate(commands):
            places[self.place_of_key(key_of(words))].append(position)
        answers: list[Any] = [None] * len(commands)
        for positions in places.values():
            own = [commands[position] for position in positions]
            own_answers = self.execute_together(own, scripts, transaction=transaction)
            for position, answer in zip(positions, own_answers, strict=True):
                answers[position] = answer
        for position, (words, options) in enumerate(commands):
            if isinstance(answers[position], self.MOVED):
                try:
                    answers[position] = self.execute_command(*words, **options)  # type: ignore[no-untyped-call]
                except RedisError as error:
                    answers[position] = error
        return answers


class LoadedWhereCalled(Script):
    """A script that is loaded on the called server if it is unknown there; a server that has taken over knows none.

    redis-py's own class inspects its client at each call, which takes longer than writing the command.
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
    """Send a pipeline's commands to one server, and return the answers, including errors of the server.

    Raises:
        RedisError: if the server cannot be reached.
    """
    with server.pipeline(transaction=transaction) as pipeline:
        pipeline.command_stack, pipeline.scripts = list(commands), set(scripts)
        return pipeline.execute(raise_on_error=False)

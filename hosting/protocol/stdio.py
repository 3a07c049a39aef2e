"""The protocol over a pipe, as JSON Lines: a parent process writes a message per line and reads an answer per line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Literal

import msgspec
import structlog
from pydantic import BaseModel, Field, JsonValue, ValidationError

from cogitate.hosting.logs import where_raised
from cogitate.hosting.protocol.answers import Refusal, malformed, refusal_of
from cogitate.hosting.protocol.host_table import HostTable
from cogitate.hosting.protocol.messages import Message, OpenRun, Steer, Turn, read_json
from cogitate.hosting.protocol.questions import Question
from cogitate.memory.errors import CogitateError, first_fault, quoted

MAX_LINE = 8_000_000  # bytes
PARENT = "host"  # the only host's name
log = structlog.get_logger()


class Line(Message):
    """One line: an action, a run, and the message that HTTP would carry as its body."""

    do: Literal["open", "tick", "stand", "memory", "steer", "status", "close"]
    run: str = Field(max_length=64)
    tick: int | None = Field(None, ge=1)
    body: dict[str, JsonValue] = Field(default_factory=dict)
    id: JsonValue = None  # returned with the answer


class StdioHost:
    """The end of the pipe that answers the parent's lines, in order."""

    def __init__(self, table: HostTable) -> None:
        self._table = table
        self._actions: Mapping[str, Callable[[Line], BaseModel]] = {
            "open": lambda line: table.open(PARENT, line.run, OpenRun.model_validate(line.body)),
            "tick": self._tick,
            "stand": lambda line: table.get(PARENT, line.run).stand(),
            "memory": lambda line: table.get(PARENT, line.run).answer(Question.model_validate(line.body)),
            "steer": lambda line: table.steer(PARENT, line.run, Steer.model_validate(line.body)),
            "status": lambda line: table.status(PARENT, line.run),
            "close": lambda line: table.close_run(PARENT, line.run),
        }

    def serve(self, lines: BinaryIO, answers: BinaryIO) -> None:
        """Answer each line until the parent closes the pipe."""
        while raw := lines.readline(MAX_LINE + 1):
            if not raw.strip():
                continue
            answer = self._too_long(lines) if len(raw) > MAX_LINE else self.answer(raw)
            answers.write(msgspec.json.encode(answer) + b"\n")
            answers.flush()

    def answer(self, raw: bytes) -> dict[str, Any]:
        """Answer one line: `ok` with the body that HTTP would return, or `error`."""
        identity: dict[str, Any] = {}
        try:
            value = read_json(raw)
            if isinstance(value, dict) and "id" in value:
                identity["id"] = value["id"]
            line = Line.model_validate(value)
            return {**identity, "ok": self._actions[line.do](line).model_dump(mode="json")}
        except (CogitateError, ValidationError) as error:
            refusal = malformed(first_fault(error)) if isinstance(error, ValidationError) else refusal_of(error)
        except Exception as error:
            log.error("stdio.failed", error=type(error).__name__, exception=where_raised(error))
            refusal = refusal_of(error)
        return {**identity, "error": refusal.problem.model_dump(exclude_none=True)}

    def _tick(self, line: Line) -> BaseModel:
        if line.tick is None:
            raise malformed(f'a line with "do": {quoted(line.do)} needs a tick')
        return self._table.post(PARENT, line.run, line.tick, Turn.model_validate(line.body)).result()

    def _too_long(self, lines: BinaryIO) -> dict[str, Any]:
        while (rest := lines.readline(MAX_LINE)) and not rest.endswith(b"\n"):
            pass
        refusal = Refusal(413, "too_long", f"the line is longer than {MAX_LINE:,} bytes", "send less in one message")
        return {"error": refusal.problem.model_dump(exclude_none=True)}

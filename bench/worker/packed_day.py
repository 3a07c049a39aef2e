"""`python -m bench pack`: the savings of packed calls in a day of a town and in the story, with the same kinds of job.

Real workers, real HTTP, the stand-in model, full speed. The stand-in counts 1.3 tokens for each word of the messages.
It does not count the schema that each request carries and providers charge for; the table's characters count both.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple
from unittest.mock import patch

from bench.table import Row, Table
from bench.worker.lived_day import RUN, lived_day
from cogitate.memory.clock import DAY
from cogitate.memory.effects import Rate
from cogitate.ops.fake_llm import completions, server
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.simulation.story.story import Story
from cogitate.simulation.town.town import Town

COLUMNS = (
    "requests",
    "prompt tokens",
    "answer tokens",
    "jobs by the model",
    "memories a rating request",
    "characters with schemas",
)
LATENCY = 0.1  # seconds of an answer


class Lived(NamedTuple):
    """The figures of a day."""

    requests: int
    prompts: int  # tokens
    answers: int  # tokens
    usable: int  # jobs that ended by the model
    rated: float  # memories for each request that rated some
    characters: int  # of all messages and schemas


def live(world: Town | Story, pack: Literal["auto", "off"], ticks: int) -> Lived:
    """Live a day, and count.

    Raises:
        RuntimeError: if the auditor finds anything.
    """
    sent: list[int] = []

    def complete(request: dict[str, Any], *rest: Any) -> Any:
        schema = json.dumps(request.get("response_format", {}))
        sent.append(len(schema) + sum(len(message["content"]) for message in request["messages"]))
        return completed(request, *rest)

    completed = completions.complete
    server._understood.cache_clear()  # a request in its cache would not be counted
    with (
        TemporaryDirectory(prefix="cogitate-") as folder,
        patch.object(server, "complete", complete),
        FakeEndpoint(latency=LATENCY) as endpoint,
    ):
        chosen = Settings(
            data_dir=Path(folder),
            llm="openai",
            limit_tokens=100_000_000,
            limits={},
            workers=1,
            concurrency=32,
            endpoints={"default": Endpoint(base_url=endpoint.url, api_key="any")},
            models={"default": ModelSettings(model="m", input_price=0, output_price=0, pack=pack)},
        )
        with lived_day(world, chosen, ticks) as loop:
            sources, rated, asked = Counter[str](), 0, 0
            for line in read_journal(RunStore.open(loop.ledger.client, RUN), 1, loop.tick):
                for end, note in zip(line.core.ended, line.notes.ended, strict=True):
                    sources[note.source] += 1
                    if end.key.kind == "rate" and note.source == "llm":
                        asked += note.usage.calls
                        rated += sum(len(one.numbers) for one in end.effects if isinstance(one, Rate) and one.paid)
        served = endpoint.stats()
    tokens = (served.prompt_tokens, served.completion_tokens)
    return Lived(served.requests, *tokens, sources["llm"], rated / asked if asked else 0.0, sum(sent))


def table(agents: int = 25, ticks: int = DAY) -> Table:
    """Return the figures of a town and of the story, each with single and with packed calls."""
    rows = []
    for name in ("town", "story"):
        single, packed = (
            live(Town(agents=agents) if name == "town" else Story(), pack, ticks) for pack in ("off", "auto")
        )
        rows += [Row(f"{name}, single", single), Row(f"{name}, packed", packed)]
        ratios = (new / old if old else None for old, new in zip(single, packed, strict=True))
        rows.append(Row(f"{name}, packed to single", tuple(ratios)))
    return Table("Packed calls of a day", COLUMNS, tuple(rows), decimals=2)

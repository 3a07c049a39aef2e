"""`python -m bench money`: the cost of a day of a town as each way to save money is added to the others.

As `bench flex`, at the prices of the table. The stand-in simulates the provider's prompt cache: it reports as cached
the beginning that a prompt shares with an earlier one, from 1,024 tokens on, in steps of 128. Providers forget a prompt
after 5 to 10 minutes; at full speed a whole day passes in about that, so in a world with a real clock less is cached. A
request in a batch file counts as one request, without any cached tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from bench.table import Row, Table
from bench.worker.flex_day import COLUMNS, Lived, live
from cogitate.memory.clock import DAY
from cogitate.ops.fake_llm import completions, server
from cogitate.ops.fake_llm.answers import text_of
from cogitate.ops.fake_llm.completions import FakeResponse, count_tokens

LEAST, STEP = 1_024, 128  # tokens that OpenAI caches: https://platform.openai.com/docs/guides/prompt-caching


@contextmanager
def prompt_cache() -> Iterator[None]:
    """Have the stand-in of this process report what a prompt shares with an earlier one."""
    earlier: list[str] = []

    def complete(request: dict[str, Any], seed: object, fault: str | None) -> FakeResponse:
        response = completed(request, seed, fault)
        prompt = "\n".join(text_of(message) for message in request["messages"])
        shared = max((count_tokens(_beginning(prompt, one)) for one in earlier), default=0)
        earlier.append(prompt)
        body = json.loads(response.body)
        if shared >= LEAST and "usage" in body:
            body["usage"]["prompt_tokens_details"] = {"cached_tokens": shared // STEP * STEP}
        return replace(response, body=json.dumps(body).encode())

    completed = completions.complete
    server._understood.cache_clear()  # a request in its cache would not be counted
    with patch.object(server, "complete", complete):
        yield
    server._understood.cache_clear()


def _beginning(one: str, other: str) -> str:
    """Return the common beginning of two texts."""
    differs = (at for at, (here, there) in enumerate(zip(one, other, strict=False)) if here != there)
    return one[: next(differs, min(len(one), len(other)))]


def table(agents: int = 25, ticks: int = DAY) -> Table:
    """Return the figures of a day as means are added, and each row's part of the first."""
    found: dict[str, Lived] = {"single, standard": live(agents, ticks, tier="standard")}
    with prompt_cache():
        found["single, cache"] = live(agents, ticks, tier="standard")
    found["packed"] = live(agents, ticks, tier="standard", pack="auto")
    with prompt_cache():
        found["packed, cache"] = live(agents, ticks, tier="standard", pack="auto")
    with prompt_cache():  # empty again: the days before have sent the same prompts
        found["packed, cache, flex"] = live(agents, ticks, tier="auto", pack="auto")
    with prompt_cache():
        found["packed, cache, flex, batch"] = live(agents, ticks, tier="auto", pack="auto", batch="auto")
    first = found["single, standard"]
    rows = [Row(name, (*one, one.tokens / first.tokens, one.dollars / first.dollars)) for name, one in found.items()]
    columns = (*COLUMNS, "tokens to single", "dollars to single")
    return Table("Money of a day", columns, tuple(rows), decimals=4)

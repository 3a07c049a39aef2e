"""Call a model without any framework: one event loop, one AsyncOpenAI, a fixed number of calls in flight.

`python -m bench concurrency` runs it as a process: base URL, file of the request, calls in flight, HTTP library
("own": the SDK's, or "aiohttp"). It never ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import openai


async def call(url: str, request: dict[str, Any], in_flight: int, library: str) -> None:
    """Call repeatedly, and parse each answer as JSON."""
    http_client = openai.DefaultAioHttpClient() if library == "aiohttp" else None
    patience = openai.Timeout(600, connect=60)  # a busy machine takes long to open hundreds of connections
    async with openai.AsyncOpenAI(
        base_url=url, api_key="any", max_retries=0, timeout=patience, http_client=http_client
    ) as client:

        async def again() -> None:
            while True:
                completion = await client.chat.completions.create(**request)
                json.loads(completion.choices[0].message.content or "")

        await asyncio.gather(*(again() for _ in range(in_flight)))


if __name__ == "__main__":
    asyncio.run(call(sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), int(sys.argv[3]), sys.argv[4]))

"""The plain way to call a model from Celery: one task is one call with the synchronous `openai` client.

`python -m bench concurrency` compares this worker with the product's. It uses Celery's defaults and one client per
process. The file named by PLAIN_REQUEST holds the request.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celery import Celery

if TYPE_CHECKING:
    import openai

app = Celery("plain", broker=os.environ.get("PLAIN_BROKER"))
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True)


@cache
def _client(pid: int) -> openai.OpenAI:
    import openai  # here, since a process that only publishes calls does not need it

    return openai.OpenAI(base_url=os.environ["PLAIN_ENDPOINT"], api_key="any", max_retries=0)


@cache
def _request() -> dict[str, Any]:
    request: dict[str, Any] = json.loads(Path(os.environ["PLAIN_REQUEST"]).read_text())
    return request


@app.task(name="call")  # type: ignore[untyped-decorator]
def call(number: int) -> None:
    """Make one call; return its answer, parsed as JSON."""
    completion = _client(os.getpid()).chat.completions.create(**_request())
    json.loads(completion.choices[0].message.content or "")

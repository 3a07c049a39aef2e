"""Shared parts of the model client's tests: a prompt, a client, and a server with a constant response."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from pydantic import BaseModel, SecretStr

from cogitate.memory.profile import Profile
from cogitate.scheduler.config.endpoints import Endpoint, Model
from cogitate.scheduler.ledger.claims import Claim
from cogitate.tasks.job import Job
from cogitate.tasks.kind import Case, Prompt, WorldFacts
from cogitate.workers.llm import client as llm  # noqa: F401 - loaded now: that takes a second, and some deadlines here are shorter
from cogitate.workers.llm.clients import ModelClients
from cogitate.workers.llm.replies.failures import ModelAnswer
from cogitate.workers.llm.requests.tokens import prompt_tokens

MODEL = Model(name="default", model="stand-in", input_price=150_000, cached_input_price=75_000, output_price=600_000)
KEY = "sk-planted-5f1d2c"
CAP = 300  # tokens an answer may have


class Mood(BaseModel):
    word: str
    strength: int


PROMPT = Prompt(system="You name moods.", user="It rains on the harbour in the morning.", answer=Mood, version="v")
BOUND = prompt_tokens(PROMPT) + CAP


def claim_of(job: Job, *, incarnation: str = "now", response_cache: bool = False) -> Claim:
    """Return the claim of a first attempt at a job that reads no memories."""
    case = Case(job=job, profile=Profile(name="Ada"), world=WorldFacts(), memories={})
    return Claim(incarnation=incarnation, token="t", number=1, cap=4, case=case, response_cache=response_cache)


@contextmanager
def client_of(url: str, concurrency: int = 8) -> Iterator[ModelClients]:
    client = ModelClients({"default": Endpoint(base_url=url, api_key=SecretStr(KEY))}, concurrency)
    try:
        yield client
    finally:
        client.close()


def ask(client: ModelClients, seconds: float = 20.0, prompt: Prompt = PROMPT) -> ModelAnswer:
    return client.of("default").ask(prompt, model=MODEL, max_output_tokens=CAP, deadline=time.monotonic() + seconds)


def completion(content: object, **message: object) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": "stop"}
    return {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}}


@contextmanager
def server_saying(status: int, body: object, echo: bool = False, **headers: str) -> Iterator[str]:
    """Serve a constant response; with `echo`, replace "KEY" in it by the key of the request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            text = json.dumps(body)
            if echo:
                text = text.replace("KEY", self.headers["Authorization"].removeprefix("Bearer "))
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the output of tests clean."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


GOOD = {"word": "calm", "strength": 3}

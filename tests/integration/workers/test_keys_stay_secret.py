"""Keys and passwords appear nowhere: a provider repeats them in all responses, and everything written is searched."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from typer.testing import CliRunner

from cogitate.ops.cli import app
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import cogitate
from tests.live_flower import flower, get, started

BY_ENVIRONMENT, BY_FILE, PASSWORD = "sk-environment-4711-abcdef", "SK_File_0815_Ghijkl", "hunter2-hunter2"
ENCODED = base64.b64encode(f"someone:{PASSWORD}".encode()).decode()
SECRETS = (BY_ENVIRONMENT, BY_FILE, PASSWORD, ENCODED)
SHOWING = (
    "config",
    "config --json",
    "status town",
    "status town --json",
    "jobs town",
    "audit town",
    "export town --what journal",
    "export town --what jobs",
    "export town --what memories",
)
# The first reflection is requested at tick 423 and due ten ticks later; a shorter run would not wait for its answer.
RUN = ("run", "--town", 3, "--ticks", 440, "--run", "town", "--workers", 0, "--llm", "openai", "-vv")
LOGIN = "me:flower"
PAGES = ("api/tasks", "api/workers", "tasks", "broker", "cadence/data?run=town", "budgets/data?run=town")
WORKER = ("worker", "--loglevel", "debug")


def repeated(model: str, secret: str) -> tuple[int, dict[str, Any]]:
    """Return the provider's response to a model's call: an error with the secret, or a valid answer made of it."""
    if model == "plan":
        code = secret.lower()  # so it looks like the code of an error
        return 400, {"error": {"message": f"bad key {secret}", "code": code, "type": code, "param": secret}}
    if model == "act":
        text = json.dumps({"location": "", "doing": secret, "reason": secret, "completing_plan_item": False})
    else:
        text = json.dumps({"insight": f"The key is {secret}.", "significance": 5, "relationship_changes": []})
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return 200, {"id": secret, "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}


def in_pieces(body: dict[str, Any]) -> str:
    """Return the same answer as a stream with four characters per chunk."""
    text = body["choices"][0]["message"]["content"]
    parts: list[dict[str, Any]] = [{"delta": {"content": text[at : at + 4]}} for at in range(0, len(text), 4)]
    parts.append({"delta": {}, "finish_reason": "stop"})
    chunks = [{**body, "choices": [{"index": 0, **part}]} for part in parts]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)


@contextmanager
def nasty_provider(heard: set[str]) -> Iterator[int]:
    """Serve a provider that repeats the request's key in body and headers and adds it to `heard`; yield its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            secret = self.headers["Authorization"].partition(" ")[2]
            heard.add(secret)
            status, body = repeated(request["model"], secret)
            text = (in_pieces(body) if request["model"] == "reflect" else json.dumps(body)).encode()
            self.send_response(status)
            for name, value in (("X-Key", secret), ("Content-Length", str(len(text)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the output of tests clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def configured(port: int) -> str:
    """Return a configuration with one key in the file, one in the environment, and one in a URL's user and password."""
    address = f"127.0.0.1:{port}/v1"
    return f"""
        [budget]
        limit_tokens = 1000000
        [memory]
        reflection_interval = 60
        [jobs]
        act_interval = 20
        [model]
        tiers = {{ routine = "plan" }}
        record = true
        [model.endpoints.of_file]
        base_url = "http://{address}"
        api_key = "{BY_FILE}"
        [model.endpoints.of_environment]
        base_url = "http://{address}"
        [model.endpoints.of_url]
        base_url = "http://someone:{PASSWORD}@{address}"
        [model.models]
        plan = {{ endpoint = "of_file", model = "plan" }}
        act = {{ endpoint = "of_url", model = "act" }}
        reflect = {{ endpoint = "of_environment", model = "reflect" }}
        [model.kind_tiers]
        act = {{ routine = "act" }}
        reflect = {{ routine = "reflect" }}
    """.replace("\n        ", "\n")


def test_no_key_is_written_shown_or_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir, heard = tmp_path / "data", set[str]()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", BY_ENVIRONMENT)
    said: dict[str, str] = {}
    with nasty_provider(heard) as port, EmbeddedServer(data_dir) as server:
        (tmp_path / "cogitate.toml").write_text(configured(port))
        with flower(data_dir, f"--basic-auth={LOGIN}") as address:
            with started(*WORKER, data_dir=data_dir, log=tmp_path / "worker.log", OPENAI_API_KEY=BY_ENVIRONMENT):
                done = cogitate(*RUN, data_dir=data_dir, OPENAI_API_KEY=BY_ENVIRONMENT)
            said |= {page: get(f"{address}/{page}", LOGIN)[1] for page in PAGES}
        said["run"] = done.stdout + done.stderr
        for shown in SHOWING:
            said[shown] = shown_by(*shown.split(), data_dir=data_dir)
        for database in range(2):
            with server.client(database) as client:
                said[f"database {database}"] = everything(client)
    assert done.returncode == 0, said["run"]
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name != "cogitate.toml":
            said[str(path)] = path.read_bytes().decode("latin-1")
    assert heard == {BY_FILE, BY_ENVIRONMENT, ENCODED}
    assert "town/360/plan" in said["api/tasks"]
    assert "[key]" in said["database 0"], "answers are recorded without the key"
    assert "llm.failed" in said[str(tmp_path / "worker.log")]
    assert [
        (where, secret) for where, text in said.items() for secret in SECRETS if secret.lower() in text.lower()
    ] == []


def shown_by(*arguments: str, data_dir: Path) -> str:
    """Run a command in this process, and return its output."""
    shown = CliRunner().invoke(app, [*arguments, "--data-dir", str(data_dir)])
    assert shown.exit_code == 0, shown.output
    return shown.output


def everything(client: Redis) -> str:
    """Return all keys and values of a database as text."""
    reading: dict[bytes | str, Callable[[bytes], object]] = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1),
    }
    return "\n".join(f"{key!r} {reading[client.type(key)](key)!r}" for key in sorted(client.keys()))

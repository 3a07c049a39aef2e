"""`cogitate minds`: show the memories of a run's agents on a page, in a file or served.

It is served on loopback, at an address with a secret that only its user learns.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import typer
from redis.exceptions import RedisError

from cogitate.hosting.terminal import Terminal
from cogitate.memory.errors import CogitateError, InputError
from cogitate.ops.capsule.reading import ReadRun, open_runs
from cogitate.ops.command_options import RunOrFile, SharedOptions
from cogitate.ops.report.minds_page import ShownRun, shown_minds, write_minds
from cogitate.ops.report.minds_reading import PARTS, MindsReading
from cogitate.ops.signals import interruptible
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.inspection.minds import read_minds, read_past
from cogitate.scheduler.inspection.stored_run import kept_facts, tick_at
from cogitate.scheduler.journal.checkpoint import trimmed_tick
from cogitate.scheduler.ledger.errors import RunMissing
from cogitate.scheduler.ledger.run_store import RunStore


def minds(
    run: RunOrFile,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the page as one file instead of serving it.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Show the memories at the end of a tick: 720, or 'day 2 12:00'."),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option("--beside", metavar="RUN", help="Show each agent beside the same agent of this run or capsule."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to serve at; 0: any free one.")] = 0,
    *,
    options: SharedOptions,
) -> int:
    """Show what every agent remembers on a page: a timeline of each day, and each thought with its evidence, the job
    that wrote it, what its prompt showed and left out, and its cost.

    By default, the page is served on this machine until Ctrl-C, at an address with a secret. It shows what an agent
    recalls for a question, and the prompts that the run recorded. With --out it is one HTML file that loads nothing,
    holds no prompt, and is readable by you alone. Memories at an earlier time are rebuilt from the journal, exactly as
    they were. The exit code is 1 if the journal was altered.
    """
    settings = options.settings()
    load_kinds(settings)
    with open_runs(settings, *filter(None, (run, beside))) as runs:
        if out is None:
            names = [one.run for one in runs]
            reading = MindsReading(runs[0].client, settings, {one.run: one.client for one in runs})
            reading.page(names[0], at=at or "", beside=(*names, "")[1])  # report a missing run or tick before serving
            return _serve(reading, names, at, port)
        shown, figures = zip(*(read_shown(one, at) for one in runs), strict=True)
    write_minds(shown, out)
    Terminal(stderr=options.as_json).print(f"wrote {out} ({out.stat().st_size / 1000:,.0f} kB)")
    if options.as_json:
        print(json.dumps({**figures[0], "out": str(out)} | ({"beside": figures[1]} if beside is not None else {})))
    return 0


def read_shown(read: ReadRun, at: str | None) -> tuple[ShownRun, dict[str, int | str]]:
    """Return a run with all memories, now or at the time `at`, and its figures."""
    client, run = read
    store = RunStore.open(client, run)
    facts, past = kept_facts(store), None if at is None else read_past(store, tick_at(store, at))
    tick = store.tick() if past is None else past.tick
    with facts.clock.in_force():
        minds = list(read_minds(client, run, past))
        shown = shown_minds(
            run,
            tick,
            facts.minute(tick),
            trimmed_tick(store),
            minds,
            {model.name: model.model for model in facts.models},
        )
    entries = sum(len(mind.stream.entries) for mind in minds)
    return shown, {"run": run, "tick": tick, "owners": len(minds), "entries": entries}


def _serve(reading: MindsReading, runs: Sequence[str], at: str | None, port: int) -> int:
    """Serve the page until a signal.

    Raises:
        ConfigurationError: when the port is in use.
    """
    err = Terminal(stderr=True)
    try:
        server = MindsServer(reading, runs, port)
    except OSError as error:
        raise ConfigurationError(f"--port {port}: cannot listen there: {error.strerror or error}") from None
    with server, interruptible(err.print) as interruption:
        print(server.url if at is None else f"{server.url}?{urlencode({'at': at})}", flush=True)
        err.print("Open this address in a browser on this machine; Ctrl-C stops the server.")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return interruption.exit_code
    return 0


HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
WAIT = 60.0  # seconds for a request to arrive


class MindsServer(ThreadingHTTPServer):
    """The server of the page of one run, or of two side by side.

    Memories are private, so the address has a secret that other users cannot guess.
    """

    daemon_threads = True

    def __init__(self, reading: MindsReading, runs: Sequence[str], port: int) -> None:
        """Listen on a port.

        Raises:
            OSError: when the port is in use.
        """
        super().__init__(("127.0.0.1", port), _Request)
        self.reading = reading
        self.runs = runs
        self.secret = token_urlsafe(16)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.secret}/minds"


class _Request(BaseHTTPRequestHandler):
    server: MindsServer
    timeout = WAIT

    def do_GET(self) -> None:
        """Answer with the page, or with a part of it as JSON."""
        address = urlsplit(self.path)
        _, secret, page, *parts = [*address.path.split("/"), "", ""]
        known = hmac.compare_digest(secret.encode(), self.server.secret.encode()) and page == "minds"
        part = "/".join(parts).rstrip("/")
        reading, runs = self.server.reading, self.server.runs
        given = dict(parse_qsl(address.query, keep_blank_values=True))
        run, at = given.get("run", runs[0]), given.get("at", "")
        if known and not part:
            read_page = partial(reading.page, runs[0], at=at, beside=(*runs, "")[1])
            self._answer(lambda: read_page().encode(), "text/html; charset=utf-8")
        elif known and part in PARTS and run in runs:
            self._answer(lambda: json.dumps(reading.answer(part, run, given)).encode(), "application/json")
        else:
            self._send(404, b"There is no such page.", "text/plain")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the address is secret."""

    def _answer(self, read: Callable[[], bytes], kind: str) -> None:
        try:
            status, body = 200, read()
        except (RunMissing, InputError) as error:
            status, body, kind = 404, _error_body(error), "application/json"
        except (CogitateError, RedisError, OSError) as error:
            status, body, kind = 503, _error_body(error), "application/json"
        self._send(status, body, kind)

    def _send(self, status: int, body: bytes, kind: str) -> None:
        with suppress(ConnectionError):  # the visitor has closed the page
            self.send_response(status)
            for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)


def _error_body(error: Exception) -> bytes:
    return json.dumps({"error": str(error)}).encode()

"""`python -m bench gateway`: the cost of a tick through the gateway and through a pipe, compared with the plain loop.

The same town's observations are posted over HTTP, written to a pipe and passed to a loop in Python, each with its own
server and one worker. A tick's time is the time that its host waits, from its turn until the next tick may begin. No
run waits for results, so the figures measure the interface and not the worker.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from bench.table import Row, Table, percentile
from cogitate import Observation, Profile, Settings, TickLoop

RUN = "bench"
NOTE = "Milliseconds of a tick, including its turn, as its host sees it; without the first {first} ticks."
WARM = 20
Post = Callable[[int, Sequence[tuple[str, str]]], None]


def table(agents: int = 25, ticks: int = 1_000) -> Table:
    """Return the table of the three interfaces. They take turns, tick by tick, so that load affects all alike."""
    owners = {f"agent:{number}": f"Agent {number}" for number in range(agents)}
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory(prefix="cogitate-bench-") as folder, ExitStack() as open_ways:
        posts = {
            name: open_ways.enter_context(way(Path(folder) / name.replace(" ", "-"), owners))
            for name, way in WAYS.items()
        }
        for number in range(1, WARM + ticks + 1):
            seen = [(owner, f"I heard bell {number} strike.") for owner in owners]
            for name, post in posts.items():
                began = time.perf_counter()
                post(number, seen)
                seconds[name].append(time.perf_counter() - began)
    found = {name: taken[WARM:] for name, taken in seconds.items()}
    plain = percentile(found["the plain loop"], 0.99)
    rows = [
        Row(
            name,
            (
                *(f"{1000 * percentile(taken, at):.1f}" for at in (0.5, 0.95, 0.99)),
                f"{percentile(taken, 0.99) / plain:.1f}",
            ),
        )
        for name, taken in found.items()
    ]
    return Table(
        f"A tick of {agents} agents, each observing",
        ("median", "p95", "p99", "p99 to plain"),
        tuple(rows),
        NOTE.format(first=WARM),
    )


@contextmanager
def _plain(data_dir: Path, owners: dict[str, str]) -> Iterator[Post]:
    settings = Settings(data_dir=data_dir, workers=1, wait=0)
    profiles = {owner: Profile(name=name) for owner, name in owners.items()}
    with TickLoop(run=RUN, owners=profiles, settings=settings) as loop:

        def post(number: int, seen: Sequence[tuple[str, str]]) -> None:
            with loop.next_tick() as tick:
                for owner, text in seen:
                    loop.observe(owner, Observation(text=text, minute=tick.minute, importance=3))

        yield post


@contextmanager
def _http(data_dir: Path, owners: dict[str, str]) -> Iterator[Post]:
    process = _started("gateway", "--port", "0", data_dir=data_dir, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        found = re.search(r"http://([^:]+):(\d+);", process.stderr.readline().decode())
        assert found is not None, "the gateway does not serve"
        with closing(http.client.HTTPConnection(found[1], int(found[2]))) as connection:

            def sent(path: str, message: object) -> None:
                headers = {"Content-Type": "application/json"}
                connection.request("POST", f"/runs/{RUN}/{path}", json.dumps(message).encode(), headers)
                response = connection.getresponse()
                answer = json.loads(response.read())
                assert response.status == 200, answer

            sent("open", _opening(owners))
            yield lambda number, seen: sent(f"ticks/{number}", _turn(seen))
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def _pipe(data_dir: Path, owners: dict[str, str]) -> Iterator[Post]:
    process = _started("host", "--stdio", data_dir=data_dir, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        lines, answers = process.stdin, process.stdout

        def said(do: str, body: object, **more: object) -> None:
            lines.write(json.dumps({"do": do, "run": RUN, "body": body, **more}).encode() + b"\n")
            lines.flush()
            answer = json.loads(answers.readline())
            assert "ok" in answer, answer

        said("open", _opening(owners))
        yield lambda number, seen: said("tick", _turn(seen), tick=number)
    finally:
        process.communicate()


def _started(*arguments: str, data_dir: Path, **pipes: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cogitate.ops", *arguments, "--workers", "1", "--data-dir", str(data_dir)]
    return subprocess.Popen(command, **pipes)  # type: ignore[call-overload, no-any-return]


def _opening(owners: dict[str, str]) -> dict[str, object]:
    return {"owners": {owner: {"name": name} for owner, name in owners.items()}, "settings": {"wait": 0}}


def _turn(seen: Sequence[tuple[str, str]]) -> dict[str, object]:
    return {"observations": [{"owner": owner, "text": text, "importance": 3} for owner, text in seen]}


WAYS = {"the plain loop": _plain, "the gateway": _http, "a pipe": _pipe}

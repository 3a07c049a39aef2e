"""A live Flower and the live run that it shows: processes that a test starts and stops by process id."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import LONGEST
from tests.ports import free_ports
from tests.process_environment import clean_environment

OURS = ("COGITATE_", "OPENAI_", "FLOWER_")


def until(condition: Callable[[], object], what: str, timeout: float = LONGEST) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout:.0f} seconds for {what}"
        time.sleep(0.02)


@contextmanager
def started(*arguments: object, data_dir: Path, log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `cogitate …` for a block; at its end, interrupt it as Ctrl-C does, and kill it if it does not stop."""
    command = [sys.executable, "-m", "cogitate.ops", *(str(part) for part in arguments), "--data-dir", str(data_dir)]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=clean_environment(**environment), cwd=log.parent, stdout=out, stderr=out
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(LONGEST)
        finally:
            process.kill()
            process.wait()


@contextmanager
def flower(data_dir: Path, *options: str, **environment: str) -> Iterator[str]:
    """Run `cogitate flower` on a free local port for a block, and yield its address."""
    port = free_ports()
    log = data_dir.parent / f"flower-{port}.log"
    address = f"http://127.0.0.1:{port}"
    with started("flower", f"--port={port}", *options, data_dir=data_dir, log=log, **environment) as process:
        until(lambda: process.poll() is not None or _answers(address), "Flower to answer")
        assert process.poll() is None, log.read_text()
        yield address


def get(address: str, login: str = "") -> tuple[int, str]:
    """Return the status and text of a page; `login` is "user:password"."""
    return _answer(urllib.request.Request(address), login)


def post(address: str, body: object, login: str = "", **headers: str) -> tuple[int, str]:
    """Post a JSON body, and return the response's status and text; in header names "_" stands for "-"."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return _answer(urllib.request.Request(address, json.dumps(body).encode(), named, method="POST"), login)


def _answer(request: urllib.request.Request, login: str) -> tuple[int, str]:
    if login:
        request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=LONGEST) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def _answers(address: str) -> bool:
    try:
        get(address)
    except OSError:
        return False
    return True

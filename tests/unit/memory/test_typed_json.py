"""Types are resolved once, whatever threads use them first."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.patience import LONGEST

#: Decodes in a second thread while the first one resolves the struct: the annotation of `Inner` runs that thread.
SCRIPT = """
from __future__ import annotations

import threading
from typing import Annotated

import msgspec

from cogitate.memory import typed_json

RAW = b'{"inner": {"number": 1}, "text": "x"}'
found = []
threads = []


def resolving() -> None:
    if not threads:
        threads.append(threading.Thread(target=use))
        threads[0].start()
        threads[0].join(0.5)  # it ends only where it does not wait for the type


class Inner(msgspec.Struct):
    number: Annotated[int, resolving()]


class Outer(msgspec.Struct):
    inner: Inner
    text: str


def use() -> None:
    found.append(USE)


use()
threads[0].join()
assert found == [Outer(Inner(1), "x")] * 2, found
"""


@pytest.mark.parametrize(
    "use",
    [
        "typed_json.decode(RAW, Outer)",
        "typed_json.decoder(Outer).decode(RAW)",
        "typed_json.convert({'inner': {'number': 1}, 'text': 'x'}, Outer)",
    ],
)
def test_a_thread_waits_for_a_type_that_another_resolves(use: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("USE", use)], capture_output=True, text=True, timeout=LONGEST, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")

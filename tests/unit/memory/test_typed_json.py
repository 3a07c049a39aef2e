"""Types are resolved once, whatever threads use them first, and equal values are written alike."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.profile import Profile
from cogitate.scheduler.intake.checks import check_profile
from tests.patience import LONGEST

#: Decodes in a second thread while the first one resolves the struct: the annotation of `Inner` runs that thread.
SCRIPT = """
from __future__ import annotations

import threading
from typing import Annotated

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.profile import Profile
from cogitate.scheduler.intake.checks import check_profile

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


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """Defaults of which equal ones may be other objects."""

    word: str = "as usual"
    share: float = 1.5
    many: int = 1_000
    own: tuple[int, ...] = ()


def test_equal_values_are_encoded_alike_whether_read_or_made() -> None:
    read = typed_json.decode(b'{"word":"as usual","share":1.5,"many":1000,"own":[7]}', Told)
    assert msgspec.json.encode(read) != b'{"own":[7]}', "msgspec compares objects, not values"
    assert msgspec.json.encode(typed_json.with_shared_defaults(read)) == b'{"own":[7]}'
    other = typed_json.with_shared_defaults(Told(word="not so", share=2.0, many=999))
    assert (other.word, other.share, other.many, other.own) == ("not so", 2.0, 999, ())


def test_a_weight_equal_to_its_default_is_encoded_as_if_omitted() -> None:
    stated = check_profile("agent:ada", Profile(name="Ada", weight=float("1.0")))
    assert msgspec.json.encode(stated) == msgspec.json.encode(check_profile("agent:ada", Profile(name="Ada")))

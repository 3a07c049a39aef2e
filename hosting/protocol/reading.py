"""Reading a message from bytes: strict JSON, then the message's own checks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from cogitate.hosting.protocol.refusals import malformed
from cogitate.memory import typed_json
from cogitate.memory.errors import quoted, text_of
from cogitate.scheduler.intake.checks import MAX_DEPTH, depth


def read_json(body: bytes) -> Any:
    """Decode a JSON text; refuse NaN, lone surrogates, deep nesting and repeated keys.

    Raises:
        Refusal: with the position of the error.
    """
    try:
        value = typed_json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise malformed(f"this is not JSON in UTF-8: {text_of(error)[:200]}") from None
    if depth(value) > MAX_DEPTH:
        raise malformed(f"this JSON is nested deeper than {MAX_DEPTH} levels")
    with suppress(ValueError):  # msgspec has checked it; long numbers do not matter here
        json.loads(body.decode(), object_pairs_hook=_without_repeats, parse_int=len, parse_float=len)
    return value


def _without_repeats(pairs: Sequence[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise malformed(f"this JSON gives the key {quoted(key)} twice in one object")
        seen.add(key)

"""Reading a message from bytes: strict JSON, then the message's own checks."""

from __future__ import annotations

from typing import Any

import msgspec

from hosting.protocol.refusals import malformed
from memory.errors import text_of
from scheduler.intake.checks import MAX_DEPTH, depth


def read_json(body: bytes) -> Any:
    """Return the value of a JSON text; NaN, halves of characters and endless nesting are none.

    Raises:
        Refusal: saying where it ends to be JSON.
    """
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise malformed(f"this is no JSON in UTF-8: {text_of(error)[:200]}") from None
    if depth(value) > MAX_DEPTH:
        raise malformed(f"this JSON is nested deeper than {MAX_DEPTH} levels")
    return value

"""The faults of the stand-in endpoint, and the choice of a request's fault."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from cogitate.memory.errors import CogitateError

#: The effect of each fault. Any status from 400 to 599 is a fault too, with a Retry-After in seconds as in "429:30".
FAULTS: Mapping[str, str] = {
    "hang": "read the request and never answer",
    "drip_headers": "send the response one byte at a time, headers included",
    "drip": "send the headers at once and the body one byte at a time",
    "close": "close the connection without an answer",
    "reset": "reset the connection in the middle of the body",
    "quota": "429 with code insufficient_quota",
    "overflow": "400: the prompt is too long for the model",
    "filter": "stop with finish_reason content_filter",
    "filter_400": "400 with code content_filter",
    "refusal": "decline in the message's refusal field",
    "length": "cut the answer in the middle, finish_reason length",
    "no_choices": "an empty list of choices",
    "blank": "an answer without text",
    "not_json": "words instead of JSON",
    "broken_json": "JSON that breaks off, finish_reason stop",
    "wrong_types": "the right fields with values of the wrong types",
    "wrong_schema": "a valid JSON object of another shape",
    "html": "status 200 with a web page as its body",
    "error_200": "status 200 with an error in place of choices",
    "huge": "an answer of 8 MiB",
    "prose": "valid JSON in the middle of a sentence",
    "fenced": "valid JSON in a code fence",
    "no_usage": "a valid answer without usage",
    "nan_usage": "a valid answer whose usage is NaN",
    "negative_usage": "a valid answer whose usage is negative",
}
#: The effect of each fault of packed requests; other requests get a correct answer.
PACK_FAULTS: Mapping[str, str] = {
    "pack_missing": "leave out one case",
    "pack_swapped": "swap the numbers of two cases",
    "pack_repeated": "give two cases one number",
    "pack_bad_item": "answer one case with values of the wrong types",
}
#: The effect of each fault of batch files; its rate is a share of the files.
BATCH_FAULTS: Mapping[str, str] = {
    "batch_refused": "refuse the file with 404",
    "batch_failed": "fail to validate the file",
    "batch_expired": "let the second half of its requests expire",
    "batch_partial": "leave out the second half of its requests",
    "batch_errors": "answer every second request with status 500",
    "batch_unknown": "add a line with an unknown custom_id",
    "batch_doubled": "write each line twice",
    "batch_reordered": "write the lines in reverse order",
}
#: The effect of each fault of requests for the flex tier; other requests get a correct answer.
FLEX_FAULTS: Mapping[str, str] = {
    "flex_busy": "429: flex has no capacity",
    "flex_unsupported": "400: the model has no flex",
    "flex_default": "answer in the default tier",
    "flex_unnamed": "answer without naming the tier",
}
#: The effect of each fault of requests for embeddings; other requests get a correct answer.
EMBEDDING_FAULTS: Mapping[str, str] = {
    "vector_size": "vectors of another size",
    "vector_nan": "a vector that holds NaN",
}
KNOWN: Mapping[str, str] = {**FAULTS, **PACK_FAULTS, **BATCH_FAULTS, **FLEX_FAULTS, **EMBEDDING_FAULTS}
_STATUS = re.compile(r"([45]\d\d)(?::(\d{1,6}))?")


class FaultError(CogitateError, ValueError):
    """An unknown fault or an invalid rate; the message names valid ones."""


def parse_faults(texts: Iterable[str]) -> dict[str, float]:
    """Parse "name=rate" pairs, such as "429=0.1"; rates are shares of all requests.

    Raises:
        FaultError: naming the invalid text.
    """
    rates: dict[str, float] = {}
    for text in texts:
        name, _, rate = text.partition("=")
        try:
            rates[name] = float(rate)
        except ValueError:
            raise FaultError(f"fault {text!r}: write it as name=rate, for example 429=0.1") from None
    return check_faults(rates)


def check_faults(rates: Mapping[str, float]) -> dict[str, float]:
    """Check the rates and return them.

    Raises:
        FaultError: when a name is unknown, a rate is not from 0 to 1, or they add up to more than 1.
    """
    for name, rate in rates.items():
        if name not in KNOWN and not _STATUS.fullmatch(name):
            known = ", ".join(KNOWN)
            raise FaultError(f"fault {name!r} is not known: use a status such as 503 or 429:30, or {known}")
        if not 0 <= rate <= 1:
            raise FaultError(f"fault {name!r}: its rate {rate!r} is not from 0 to 1")
    if sum(rates.values()) > 1 + 1e-9:
        raise FaultError(f"the rates of faults add up to {sum(rates.values()):g}, more than 1")
    return dict(rates)


def status_of(fault: str) -> tuple[int, int | None] | None:
    """Return status and Retry-After of a fault such as "503" or "429:30"; None for a named fault."""
    match = _STATUS.fullmatch(fault)
    return (int(match[1]), int(match[2]) if match[2] else None) if match else None


def draw(*seeds: object) -> float:
    """Return a number from 0 up to 1 that depends only on the seeds."""
    text = "\x1f".join(map(str, seeds)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2**64


def pick(rates: Mapping[str, float], at: float) -> str | None:
    """Return the fault at a point from 0 to 1, with each fault as wide as its rate; None beyond the last."""
    for name, rate in rates.items():
        if at < rate:
            return name
        at -= rate
    return None

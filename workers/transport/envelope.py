"""The wire format of hints, and the check that a message is a hint.

The fields are those of Celery's task protocol 2 inside kombu's envelope, as kombu 5.7 writes them. The worker refuses
anything else in a kind's queue (garbage, another program's task, a tampered message) before Celery sees it: a task
message without an id breaks Celery's connection and returns to the queue, over and over.
"""

from __future__ import annotations

import binascii
from typing import Literal

import msgspec

from cogitate.memory import typed_json
from cogitate.memory.errors import CogitateError
from cogitate.scheduler.config.settings import check_run_name
from cogitate.tasks.job import split_job_id

MAX_JOB_ID = 512  # characters; longer than any run name, kind and owner


class _DeliveryInfo(msgspec.Struct):
    exchange: str
    routing_key: str


class _Properties(msgspec.Struct):
    correlation_id: str
    delivery_tag: str
    delivery_info: _DeliveryInfo
    body_encoding: Literal["base64"]
    reply_to: str = ""


class _Headers(msgspec.Struct):
    """Headers. Those that delay, expire, limit, group or compress a message must be None: hints never use them."""

    task: str
    id: str
    timelimit: tuple[None, None]
    argsrepr: str
    kwargsrepr: str
    retries: Literal[0] = 0
    lang: str = "py"
    root_id: str | None = None
    parent_id: str | None = None
    origin: str | None = None
    eta: None = None
    expires: None = None
    group: None = None
    shadow: None = None
    compression: None = None
    stamped_headers: None = None


class _Message(msgspec.Struct, rename="kebab"):
    body: str
    content_encoding: Literal["utf-8"]
    content_type: Literal["application/json"]
    headers: _Headers
    properties: _Properties


class _Embedded(msgspec.Struct):
    callbacks: None = None
    errbacks: None = None
    chain: None = None
    chord: None = None


_BODY = typed_json.decoder(tuple[tuple[str], dict[str, None], _Embedded])


class MessageRefused(CogitateError, ValueError):
    """A message on the broker is not a hint for a job of its kind; the worker drops it and logs why."""


def check_hint(message: object, kind: str) -> str:
    """Return the id of the job that a message in this kind's queue hints at.

    Raises:
        MessageRefused: if the message is not a hint for a job of this kind.
    """
    try:
        found = typed_json.convert(message, _Message)
        body = binascii.a2b_base64(found.body, strict_mode=True)
        (job_id,), keywords, _ = _BODY.decode(body)
        hinted = _kind_of(job_id)
    except (ValueError, RecursionError) as error:  # raised by msgspec, binascii or this function
        raise MessageRefused(str(error)) from None
    if keywords or found.headers.task != kind or hinted != kind:
        raise MessageRefused(f"expected a job of kind {kind!r}, found {found.headers.task!r} for {hinted!r}")
    return job_id


def _kind_of(job_id: str) -> str:
    if len(job_id) > MAX_JOB_ID:
        raise MessageRefused(f"a job id of {len(job_id)} characters is longer than {MAX_JOB_ID}")
    run, key = split_job_id(job_id)
    check_run_name(run)
    job_id.encode()  # a lone surrogate cannot be sent to Redis
    return key.kind


def check_envelope(message: object) -> None:
    """Check that kombu can open one of its own messages, such as a remote-control command.

    Raises:
        MessageRefused: if kombu cannot open it.
    """
    if not isinstance(message, dict) or not isinstance(message.get("headers"), dict):
        raise MessageRefused("not a message")
    try:
        typed_json.convert(message.get("properties"), _ControlProperties)
        body = message.get("body")
        if not isinstance(body, str):
            raise MessageRefused("not a message: it has no body")
        binascii.a2b_base64(body)
    except (ValueError, TypeError) as error:
        raise MessageRefused(str(error)) from None


class _ControlProperties(msgspec.Struct):
    delivery_tag: str
    delivery_info: _DeliveryInfo
    body_encoding: Literal["base64"]

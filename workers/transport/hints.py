"""Hints on the wire: how to recognise one, and how runs take turns at the queue of a kind.

The fields are those of Celery's task protocol 2 inside kombu's envelope, as kombu 5.7 writes them. The worker refuses
any other message in a kind's queue (garbage, another program's task, a tampered message) before Celery sees it: a task
message without an id breaks Celery's connection and returns to the queue, again and again.

A run with many jobs does not delay the jobs of other runs. The queue itself, on which workers block, holds identical
tickets, one per hint. The hints are in separate lists, one per run. A worker that draws a ticket takes the next hint of
the run whose turn it is, from any of its queues; a run with share 3 gets three hints for each hint of a run with share
1, whatever the kinds of their jobs. A ticket without a hint, or a hint without a ticket, is harmless: the host repeats
a hint that no longer waits while its job is open.

A kind's queue has two lists of tickets, which use kombu's lists per priority: one for jobs that ask a model, and one
for the others, so that a worker without room for the former can leave them to other workers.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec
from kombu.transport.redis import Channel

from cogitate.memory import typed_json
from cogitate.memory.errors import CogitateError
from cogitate.scheduler.config.settings import check_run_name
from cogitate.tasks.job import Job, split_job_id
from cogitate.workers.lua import source

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
    """Headers. Those that delay, expire, limit, group or compress a message must be None: hints never have them."""

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
    """Return the job id of a message in this kind's queue.

    Raises:
        MessageRefused: if the message is not a hint for a job of this kind.
    """
    try:
        hint = typed_json.convert(message, _Message)
        body = binascii.a2b_base64(hint.body, strict_mode=True)
        (job_id,), keywords, _ = _BODY.decode(body)
        hinted = _kind_of(job_id)
    except (ValueError, RecursionError) as error:  # raised by msgspec, binascii or this function
        raise MessageRefused(str(error)) from None
    if keywords or hint.headers.task != kind or hinted != kind:
        raise MessageRefused(f"expected a job of kind {kind!r}, found {hint.headers.task!r} for {hinted!r}")
    return job_id


def read_hint(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """Return the job id and the headers of a message's text in this kind's queue.

    Raises:
        MessageRefused: if the text is not a hint for a job of this kind.
    """
    try:
        message = typed_json.decode(text)
    except (ValueError, RecursionError) as error:
        raise MessageRefused(str(error)) from None
    return check_hint(message, kind), message["headers"]


def _kind_of(job_id: str) -> str:
    if len(job_id) > MAX_JOB_ID:
        raise MessageRefused(f"a job id of {len(job_id)} characters is longer than {MAX_JOB_ID}")
    run, key = split_job_id(job_id)
    check_run_name(run)
    job_id.encode()  # raises for a lone surrogate, which cannot be sent to Redis
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


QUICK, ASKING = 0, 9  # kombu's priorities, which only name the lists: a worker takes from both in turn
TICKETS = {QUICK: '"~"', ASKING: '"~9"'}  # as JSON, like everything in a queue
DRAWN = {"~": QUICK, "~9": ASKING}  # the tickets after decoding
KEPT = 86_400  # seconds after which unclaimed hints expire
TURNS_KEPT = 7 * KEPT  # seconds after which the turns expire; they must outlive all hints


def tickets_key(queue: str, priority: int) -> str:
    """Return the key of one of a queue's lists of tickets, as kombu names it."""
    return f"{queue}{Channel.sep}{priority}" if priority else queue


#: Renders a job's message with a delivery tag, which must be unique on Redis.
Render = Callable[[Job, str], str]


class Line(NamedTuple):
    """A list of one run's waiting hints."""

    queue: str
    priority: int
    run: str
    share: int


def hints_key(tickets: str, run: str, share: int) -> str:
    """Return the key of a run's hints that belong to a list of tickets."""
    return f"{tickets}:of:{share}/{run}"


def runs_key(tickets: str) -> str:
    """Return the key of the runs whose hints belong to a list of tickets."""
    return f"{tickets}:runs"


def queue_hints(pipe: Any, queue: str, priority: int, run: str, share: int, hints: list[str]) -> None:
    """Queue hints of a run with a ticket for each. Hints go first, so that no worker draws a ticket without a hint."""
    tickets = tickets_key(queue, priority)
    pipe.lpush(hints_key(tickets, run, share), *hints)
    pipe.expire(hints_key(tickets, run, share), KEPT)
    pipe.zadd(runs_key(tickets), {f"{share}/{run}": 0}, nx=True)
    pipe.expire(runs_key(tickets), KEPT)
    pipe.lpush(tickets, *[TICKETS[priority]] * len(hints))


def next_hints(
    client: Any, queues: Sequence[str], priority: int, most: int = 1, *, prefix: str = ""
) -> list[tuple[str, str]]:
    """Remove and return the next hints, each with its queue: one for the drawn ticket, others with their tickets.

    Returns at most `most` hints, plus one if tickets were lost, and none if no hint waits.

    Args:
        queues: the queues to take hints from; the ticket was drawn from the first.
        most: the most hints; 0 if no ticket is drawn yet: take one hint with a ticket of any queue.
        prefix: of the keys of all queues, if the client adds none.
    """
    lane = tickets_key("", priority)
    pairs = _script(client)(keys=[prefix + queues[0] + lane], args=[most, lane, TURNS_KEPT, *queues])
    texts = iter([text.decode() if isinstance(text, bytes) else text for text in pairs])
    return list(zip(texts, texts, strict=True))


@lru_cache(maxsize=8)  # a process has one or two clients; computes the script's hash once for each
def _script(client: Any) -> Any:
    return client.register_script(source("turn"))

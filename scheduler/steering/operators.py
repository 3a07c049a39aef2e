"""The operator's side of steering: send requests to a run, and wait for its host's answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.scheduler.config.controls import CalledOff, Control, ControlAnswer, ControlRequest, SetMode
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.ledger.connect import longest_block
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.keys import incarnation_key, new_nonce, run_base, script
from cogitate.scheduler.ledger.run_store import RunStore

MOST_WAITING = 100  # unanswered requests to one run
MOST_NAME = 100  # characters of an operator's name
MOST_REASON = 200  # characters of the reason for a request
_ANSWER = typed_json.decoder(ControlAnswer)


class RunCancelled(LedgerError):
    """The run is cancelled or was deleted, so it takes no requests. Begin a new run instead."""


class TooManyRequests(LedgerError):
    """Too many requests are waiting for a host of this run. Start a host, or resume the paused run."""


class ControlOutcome(NamedTuple):
    """The present state of a request."""

    control: Control
    state: Literal["applied", "refused", "waits"]
    tick: int = 0  # at which a host applied or refused it
    #: Why it was refused or is waiting; if it was applied: the key of a retry's new job, or counts of cancelled jobs.
    detail: str = ""
    called_off: CalledOff | None = None  # outcome of an applied request to cancel jobs


def ask(
    client: Redis, run: str, controls: Sequence[Control], *, wait: float, by: str = "", reason: str = ""
) -> list[ControlOutcome]:
    """Send requests to a run, in this order, and wait up to `wait` seconds for its host's answers.

    An unanswered request is not lost: it waits for the next host, and `detail` says so.

    Args:
        by: name of the operator, for the audit trail.
        reason: the operator's reason, for the audit trail.

    Raises:
        InputError: if the reason is longer than `MOST_REASON` characters.
        RunMissing: if the run does not exist.
        RunCancelled: if it is cancelled or has been deleted.
        TooManyRequests: if too many requests are waiting.
    """
    if len(reason) > MOST_REASON:
        raise InputError(f"the reason has {len(reason)} characters: give at most {MOST_REASON}")
    store = RunStore.open(client, run)
    requests = [ControlRequest(new_nonce(), control, by[:MOST_NAME], reason) for control in controls]
    lines = [msgspec.json.encode(item) for item in requests]
    answer: list[bytes] = script(client, "control")(
        keys=[incarnation_key(run)], args=[run_base(run), store.incarnation, MOST_WAITING, *lines]
    )
    match answer[0]:
        case b"gone":
            raise RunCancelled(f"run {run!r} was deleted meanwhile")
        case b"over":
            raise RunCancelled(f"run {run!r} is cancelled and takes no more requests")
        case b"full":
            raise TooManyRequests(
                f"{MOST_WAITING} requests are waiting for a host of run {run!r}: start one "
                f"(cogitate run --run {run} --resume), or lift the run's pause (cogitate resume {run})"
            )
    answers, why = _wait(store, requests, wait, answer[1].decode())
    return [_outcome(item, answers, why) for item in requests]


def _wait(
    store: RunStore, asked: Sequence[ControlRequest], wait: float, status: str
) -> tuple[Mapping[str, ControlAnswer], str]:
    """Return the answers so far, and why the others are missing."""
    ids = {item.id for item in asked}
    wakes = any(isinstance(item.control, SetMode) and item.control.mode != "paused" for item in asked)
    deadline, began = time.monotonic() + wait, _step(store)
    while True:
        answers = store.items("answers")
        found = {answer.id: answer for answer in map(_ANSWER.decode, answers) if answer.id in ids}
        if len(found) == len(ids):
            return found, ""
        if status == "stopped":
            return found, "no host is running: the next host of the run applies it"
        if status == "finished":
            return found, "the run is finished: a host that resumes it with more ticks applies it"
        if status == "paused" and not wakes:
            return found, "the run is paused: it is applied when the run resumes"
        if time.monotonic() >= deadline:
            if not wait:
                return found, "it is applied with the run's next tick"
            moved = _step(store) != began
            slow = "the host has not finished its tick yet" if moved else "no host has taken it"
            return found, f"{slow}: it is applied with the run's next tick"
        left = max(0.01, min(deadline - time.monotonic(), longest_block(store.client)))
        store.client.blpop([store.answered_key(id) for id in ids - found.keys()], timeout=left)


def _step(store: RunStore) -> list[bytes | None]:
    return store.state("epoch", "seq")


def _outcome(item: ControlRequest, found: Mapping[str, ControlAnswer], why: str) -> ControlOutcome:
    answer = found.get(item.id)
    if answer is None:
        return ControlOutcome(item.control, "waits", detail=why)
    if answer.refused:
        return ControlOutcome(item.control, "refused", answer.tick, answer.refused)
    called_off = answer.called_off
    detail = answer.job or (called_off.text() if called_off is not None else "")
    return ControlOutcome(item.control, "applied", answer.tick, detail, called_off)

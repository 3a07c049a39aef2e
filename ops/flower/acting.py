"""Sends an operator's request from a page to a run, as the command line does.

Flower must authenticate its visitors, and the request must come from one of its pages: it carries the token of the
visitor's cookie and has the same origin. If the browser sends Sec-Fetch-Site, that decides, since a proxy may change
the host. Otherwise, as over plain HTTP, Origin decides.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal
from urllib.parse import urlparse

import msgspec
from flower.views import BaseHandler
from redis import Redis
from redis.exceptions import NoPermissionError, RedisError
from tornado import web
from tornado.ioloop import IOLoop

from cogitate.memory import typed_json
from cogitate.memory.errors import CogitateError
from cogitate.ops.operator_requests import (
    cadence_request,
    cancel_request,
    format_control,
    format_outcome,
    limit_request,
    parse_job_id,
    retry_requests,
)
from cogitate.scheduler.config.controls import MOST_CANCELLED, Control, SetMode
from cogitate.scheduler.config.limits import MAX_LIMIT
from cogitate.scheduler.inspection.job_history import JobHistory
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.steering.operators import MOST_WAITING, ControlOutcome, ask
from cogitate.scheduler.steering.throttle import KIND
from cogitate.tasks.job import JobKey

WAIT = 2.0  # seconds for the host's answer; a paused or busy host answers later, and the history says so
SWITCH_ON = (
    "Flower does not authenticate visitors, so its pages accept no actions: start it with "
    "--basic-auth=NAME:PASSWORD or with OAuth (--auth)"
)
READ_ONLY = "Flower was started with --read-only: its pages accept no actions"
NOT_ALLOWED = (
    "Flower's user of Redis may only read: give it the user `operator` in COGITATE_REDIS_URL (ops/acl/users.acl)"
)
OTHER_SITE = (
    "requests from other sites are refused; behind a proxy over plain HTTP, start Flower with --origin=http://HOST, "
    "the address that the browser shows"
)
UNKNOWN = "Redis does not answer (%s): once it does, the run's history shows whether it got the request"
NAMES = {"applied": "took effect", "refused": "refused", "waits": "wait"}
MODES: dict[str, Literal["paused", "running", "draining"]] = {
    "pause": "paused",
    "resume": "running",
    "drain": "draining",
}


class Act(msgspec.Struct, forbid_unknown_fields=True):
    """A request from a page."""

    run: str
    action: Literal["pause", "resume", "drain", "throttle", "limit", "retry", "cancel_jobs"]
    factor: float | None = None  # throttle
    pin: bool = False
    auto: bool = False
    name: str = ""  # limit
    value: int | None = None
    jobs: list[str] = []  # retry, cancel_jobs: ids
    reason: str = ""  # for the audit trail


_ACT = typed_json.decoder(Act)


def why_not(options: Any) -> str:
    """Return why the pages accept no actions with these options of Flower; "" if visitors who log in may act."""
    if not (options.basic_auth or options.auth):
        return SWITCH_ON
    return READ_ONLY if getattr(options, "read_only", False) else ""


def is_same_origin(site: str | None, origin: str | None, host: str, configured: str) -> bool:
    """Return whether a request may come from a page of this Flower.

    Args:
        site: the header Sec-Fetch-Site, which no page can set; None if the browser does not send it.
        origin: the header Origin; None from programs other than browsers.
        host: the host under which the request reached Flower.
        configured: the origin under which visitors see Flower; "": that host.
    """
    if site is not None:
        return site == "same-origin"
    return origin is None or origin.rstrip("/") == configured.rstrip("/") or urlparse(origin).netloc == host


def controls_of(client: Redis, act: Act) -> list[Control]:
    """Return the control requests that a page's request means, without jobs that can no longer be repeated.

    Raises:
        InputError, ConfigurationError: when the request is invalid.
        LedgerError: when its run cannot be read.
    """
    if act.action in MODES:
        return [SetMode(MODES[act.action])]
    if act.action == "throttle":
        if act.factor is None and not act.pin and not act.auto:
            raise InputError("give a share of the usual cadence, or auto")
        return [cadence_request(act.run, KIND, act.factor, pin=act.pin, auto=act.auto)]
    if act.action == "limit":
        if act.value is not None and not 0 <= act.value <= MAX_LIMIT:
            raise InputError(f"limit {act.value} is invalid: give 0 to {MAX_LIMIT}")
        return [limit_request(act.name, act.value)]
    if act.action == "cancel_jobs":
        if not act.reason.strip():
            raise InputError("give a reason, for the run's audit trail")
        return [cancel_request(JobHistory(client, act.run), _keys_of(act, MOST_CANCELLED))]
    keys = _keys_of(act, MOST_WAITING)
    retries, faults = retry_requests(JobHistory(client, act.run), keys)
    if not retries:
        raise InputError("; ".join(faults))
    return [*retries]


def _keys_of(act: Act, most: int) -> list[JobKey]:
    """Return the keys of the jobs that a request names.

    Raises:
        InputError: if the list is empty or too long, or names a job of another run.
    """
    if not 0 < len(act.jobs) <= most:
        raise InputError(f"a request cannot name {len(act.jobs):,} jobs: give 1 to {most:,}")
    keys = []
    for job in act.jobs:
        run, key = parse_job_id(job)
        if run != act.run:
            raise InputError(f"job {job} is not of run {act.run!r}")
        keys.append(key)
    return keys


def told_of(controls: Sequence[Control], outcomes: Sequence[ControlOutcome]) -> dict[str, str]:
    """Return the outcome of a request in words; for several, the number in each state and the first refusal."""
    if len(outcomes) == 1:
        return {"state": outcomes[0].state, "outcome": f"{format_control(controls[0])}: {format_outcome(outcomes[0])}"}
    states = Counter(one.state for one in outcomes)
    counted = ", ".join(f"{count} {NAMES[state]}" for state, count in states.items())
    why = next((f": {one.detail}" for one in outcomes if one.detail and one.state != "applied"), "")
    state = "refused" if states["refused"] else "waits" if states["waits"] else "applied"
    return {"state": state, "outcome": f"{len(outcomes)} requests: {counted}{why}"}


class Asking(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """The handler of requests to a run's host."""

    def initialize(self, client_of: Callable[[Any], Redis]) -> None:
        """Send requests with the client that `client_of` returns for Flower's Celery app."""
        self.client_of = client_of

    def check_xsrf_cookie(self) -> None:
        """Refuse requests from outside this Flower's pages.

        Flower's own check requires no token under basic authentication.

        Raises:
            web.HTTPError: 403.
        """
        refused = why_not(self.application.options)
        if refused:
            raise web.HTTPError(403, "%s", refused)
        site, origin = self.request.headers.get("Sec-Fetch-Site"), self.request.headers.get("Origin")
        if not is_same_origin(site, origin, self.request.host, self.application.options.origin):
            raise web.HTTPError(403, "%s", OTHER_SITE)
        web.RequestHandler.check_xsrf_cookie(self)

    @web.authenticated
    async def post(self) -> None:
        """Send the request in the body, and write its outcome."""
        try:
            act = _ACT.decode(self.request.body)
        except msgspec.DecodeError as error:
            raise web.HTTPError(400, "%s", str(error)) from error
        user = self.current_user if isinstance(self.current_user, str) else self._basic_user()
        try:
            outcome = await IOLoop.current().run_in_executor(None, self._send, act, f"{user} in Flower")
        except NoPermissionError as error:
            raise web.HTTPError(403, "%s", NOT_ALLOWED) from error
        except (RedisError, OSError) as error:
            raise web.HTTPError(503, UNKNOWN, type(error).__name__) from error
        except CogitateError as error:
            raise web.HTTPError(409, "%s", str(error)) from error
        self.set_header("Cache-Control", "no-store")
        self.write(outcome)

    def _send(self, act: Act, by: str) -> dict[str, str]:
        client = self.client_of(self.capp)
        controls = controls_of(client, act)
        outcomes = ask(client, act.run, controls, wait=WAIT, by=by, reason=act.reason)
        return told_of(controls, outcomes)

    def _basic_user(self) -> str:
        """Return the name of a visitor under basic authentication; Flower has checked name and password."""
        try:
            return b64decode(self.request.headers.get("Authorization", "").partition(" ")[2]).decode().partition(":")[0]
        except ValueError:
            return "unknown visitor"

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None))[1]
        message = error.get_message() if isinstance(error, web.HTTPError) else ""
        if status_code == 401:
            self.set_header("WWW-Authenticate", 'Basic realm="flower"')
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({"error": message or f"status {status_code}"}))

"""The pages Cogitate, Budgets, Cadence, Waiting and Minds, with Flower's handlers, authentication, prefix and style.

`cogitate.workers.celery_app` finds `register` through the entry point group "cogitate.flower" when the command is
Flower. The pages only read; `cogitate.ops.flower.acting` sends operators' requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, ClassVar, get_args

from celery import Celery
from flower import urls
from flower.options import options
from flower.utils.tasks import get_task_by_id
from flower.views import BaseHandler
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from tornado import web
from tornado.ioloop import IOLoop
from tornado.options import define

from cogitate.ops.flower import patches
from cogitate.ops.flower.acting import Asking, why_not
from cogitate.ops.flower.job_list import query_of
from cogitate.ops.flower.patches import PagesLoader
from cogitate.ops.flower.readings import MOST_RUNS, Readings
from cogitate.ops.report.minds_reading import PARTS, MindsReading
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.inspection.job_records import NEWEST, JobQuery, Position
from cogitate.scheduler.intake.checks import InputError
from cogitate.scheduler.journal.lines import JournalError
from cogitate.scheduler.ledger.connect import PATIENCE
from cogitate.scheduler.ledger.errors import LedgerError, RunMissing
from cogitate.scheduler.tick.figure_history import Span
from cogitate.tasks.registry import kind_names
from cogitate.workers.publish import queue_key
from cogitate.workers.transport.amqp_connection import BrokerAway

TABS = {
    "overview": "Cogitate",
    "budgets": "Budgets",
    "cadence": "Cadence",
    "waiting": "Waiting",
    "charts": "Charts",
    "steering": "Steering",
}
NAVIGATION = TABS | {"jobs": "Jobs", "minds": "Minds"}
TITLES = NAVIGATION | {"job": "Job"}
COLUMNS = "name,args,state,result,received,runtime,uuid"  # of the task list: "reflect", "isabella · tick 420"
STATIC = Path(__file__).parent / "static"
INTERVAL = 2000  # milliseconds between two refreshes of an open page
NO_ANSWER = 3000  # milliseconds after which an open page reports a missing answer
GONE = (
    "The server that a host started here has ended with that host. Start a host and then Flower again, or stop "
    "Flower; the host's work is kept"
)
WHAT_TO_DO = "until it does, runs wait or continue by heuristic. Check its process and its machine: cogitate doctor"

NO_PASSWORD = "Memories are shown only to visitors who log in: start Flower with --basic-auth=NAME:PASSWORD or --auth"
POLICY = (
    "default-src 'self'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class Unreadable(web.HTTPError):
    """The runs cannot be read; the message says what to do."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, "%s", message)
        self.message = message


@cache
def _readings(app: Celery) -> Readings:
    return Readings(Settings(), {kind: queue_key(app, kind) for kind in kind_names()})


@cache
def _minds(app: Celery) -> MindsReading:
    return MindsReading(_readings(app).state)


class PageHandler(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """A handler that reads a page's data."""

    page: ClassVar[str]

    def set_default_headers(self) -> None:
        """Allow only the page's scripts and styles, and those in files of Flower and this package."""
        super().set_default_headers()
        self.nonce = token_urlsafe(16)
        self.set_header("Content-Security-Policy", POLICY.format(nonce=self.nonce))

    def initialize(self, page: str) -> None:
        self.page = page  # type: ignore[misc]  # tornado creates a handler for each request

    async def reading(self) -> dict[str, Any]:
        """Return the page's current reading.

        Raises:
            web.HTTPError: 404 if the run does not exist, 503 when the state or the broker does not answer, a journal
                was changed, or a run cannot be read.
        """
        try:
            reading: dict[str, Any] = await IOLoop.current().run_in_executor(None, self._read())
        except (RunMissing, InputError) as error:
            raise web.HTTPError(404, str(error)) from error
        except JournalError as error:
            raise Unreadable(503, f"{error}; `cogitate audit RUN` says where") from error
        except LedgerError as error:  # damaged, or of a newer version
            raise Unreadable(503, str(error)) from error
        except RedisTimeoutError as error:
            raise Unreadable(503, f"Redis does not answer within {PATIENCE:g} s; {WHAT_TO_DO}") from error
        except BrokerAway as error:
            raise Unreadable(503, f"{error}; {WHAT_TO_DO}") from error
        except (RedisError, OSError, ConfigurationError) as error:
            if isinstance(error.__context__, FileNotFoundError):  # the socket of a stopped server
                raise Unreadable(503, GONE) from error
            why = f"{type(error).__name__}: {error}".rstrip(".")
            raise Unreadable(503, f"Redis does not answer: {why}; {WHAT_TO_DO}") from error
        return reading

    def _read(self) -> Callable[[], dict[str, Any]]:
        """Return the call that reads the page."""
        if self.page == "job":
            return self._job()
        filters = {name: self.get_argument(name, escape=False) for name in self.request.arguments}
        run, readings = filters.pop("run", "") or None, _readings(self.capp)
        refused = why_not(self.application.options)
        match self.page:
            case "charts":
                return partial(readings.charts, run, self._span())
            case "steering":
                return lambda: readings.steering(run) | {"why_not": refused}
            case "jobs" | "matches":
                query, start = self._query(filters)
                if self.page == "matches":
                    return partial(readings.matches, run or "", query)
                return lambda: readings.jobs(run, query, start) | {"why_not": refused}
        read = {
            "overview": readings.overview,
            "budgets": readings.budgets,
            "cadence": readings.cadence,
            "waiting": readings.waiting,
        }[self.page]
        return partial(read, run)

    def _job(self) -> Callable[[], dict[str, Any]]:
        """Return the call that reads one job; only authenticated visitors see texts of memories."""
        job_id, texts = self.get_argument("id", "", escape=False), self.authenticates()

        def read() -> dict[str, Any]:
            reading = _readings(self.capp).job(job_id, texts=texts)
            return reading | {
                "task": self._task(reading["job"]["id"]),
                "texts": texts,
                "why_not": why_not(self.application.options),
            }

        return read

    def _task(self, job_id: str) -> dict[str, Any] | None:
        """Return Flower's record of the job's newest message; None if it was published before Flower started."""
        task = get_task_by_id(self.application.events, job_id)
        if task is None:
            return None
        return {
            "state": task.state,
            "received": task.received,
            "runtime": task.runtime,
            "worker": task.worker.hostname if task.worker is not None else "",
        }

    def _query(self, filters: dict[str, str]) -> tuple[JobQuery, Position]:
        """Return the filters of the job list and the start of its page, both from the address."""
        older = filters.pop("older", "")
        try:
            return query_of(filters), Position.parse(older) if older else NEWEST
        except InputError as error:
            raise web.HTTPError(400, str(error)) from error

    def _span(self) -> Span:
        span = self.get_argument("span", "hour", escape=False)
        spans: tuple[Span, ...] = get_args(Span)
        for known in spans:
            if span == known:
                return known
        raise web.HTTPError(400, f"span is one of {', '.join(spans)}")

    def authenticates(self) -> bool:
        return bool(self.application.options.basic_auth or self.application.options.auth)


class PageView(PageHandler):
    """The handler of a page, which contains its first reading."""

    @web.authenticated
    async def get(self) -> None:
        try:
            reading = await self.reading()
        except Unreadable as error:  # the page stays open, and recovers once the runs are readable
            self.set_status(error.status_code)
            reading = {"runs": [], "error": error.message}
        except web.HTTPError as error:
            if error.status_code not in (400, 404):
                raise
            await self._refuse(error)
            return
        self.render(
            f"{self.page}.html",
            reading=json.dumps(reading).replace("<", "\\u003c"),  # for use inside a script element
            page=self.page,
            title=TITLES[self.page],
            interval=INTERVAL,
            patience=NO_ANSWER,
            nonce=self.nonce,
        )

    async def _refuse(self, error: web.HTTPError) -> None:
        """Write a page with the fault in the address, and links to the existing runs."""
        runs = await IOLoop.current().run_in_executor(None, _readings(self.capp).runs)
        self.set_status(error.status_code)
        self.render("refused.html", said=error.get_message(), runs=runs[:MOST_RUNS], page=self.page, nonce=self.nonce)


class PageData(PageHandler):
    """The handler of a page's reading as JSON, which an open page fetches to refresh itself."""

    @web.authenticated
    async def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        try:
            self.write(await self.reading())
        except Unreadable as error:
            self.set_status(error.status_code)
            self.write({"error": error.message})


class MindsPart(PageData):
    """The handler of data for the page Minds. Only visitors who log in may read memories."""

    def prepare(self) -> None:
        """Refuse visitors of a Flower without passwords."""
        if not self.authenticates():
            raise web.HTTPError(403, NO_PASSWORD)

    def _read(self) -> Callable[[], dict[str, Any]]:
        arguments = {name: self.get_argument(name, "", strip=False, escape=False) for name in self.request.arguments}
        return partial(_minds(self.capp).answer, self.page, arguments.get("run", ""), arguments)


class MindsView(MindsPart):
    """The handler of the page Minds, which is the one that `cogitate minds` serves."""

    def set_default_headers(self) -> None:
        """Leave the script policy to the page, which allows its own scripts by their hashes."""
        super().set_default_headers()
        self.set_header("Content-Security-Policy", "frame-ancestors 'none'")

    def _read(self) -> Callable[[], dict[str, Any]]:
        asked, at, beside = (self.get_argument(name, "", escape=False) for name in ("run", "at", "beside"))
        readings, minds = _readings(self.capp), _minds(self.capp)

        def read() -> dict[str, Any]:
            runs = readings.runs()
            run = asked or next(iter(runs), "")
            return {"page": minds.page(run, runs, at=at, beside=beside) if run else ""}

        return read

    @web.authenticated
    async def get(self) -> None:
        page = (await self.reading())["page"]
        if page:
            self.write(page)
        else:
            self.redirect(self.reverse_url("overview"))  # where a text says that there is no run yet


class Start(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """The handler of Flower's root address, which redirects to Cogitate's first page."""

    def get(self) -> None:
        self.redirect(self.reverse_url("overview"))


class Probe(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """The handler of a probe, which requires no password, like Flower's /healthcheck."""

    def initialize(self, waits: bool) -> None:
        self.waits = waits

    async def get(self) -> None:
        redis = await IOLoop.current().run_in_executor(None, _readings(self.capp).redis)
        self.set_header("Cache-Control", "no-store")
        self.set_status(503 if self.waits and redis != "answers" else 200)
        self.write({"redis": redis})


class Demand(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """The handler of figures for an autoscaler of workers: totals without names, so it requires no password."""

    async def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        try:
            self.write(await IOLoop.current().run_in_executor(None, _readings(self.capp).demand))
        except RedisError:
            self.set_status(503)


def register() -> None:
    """Add the pages to Flower in this process, before it reads its options. A second call changes nothing."""
    if "template_loader" in urls.settings:
        return
    define("origin", type=str, default="", help="the address of Flower behind a proxy, such as https://ops.example.com")
    urls.settings["xsrf_cookie_kwargs"] = {"samesite": "Strict"}
    urls.settings["template_loader"] = PagesLoader(urls.settings["template_path"], NAVIGATION)
    addresses = {page: f"/{page}" for page in (*TABS, "job")} | {"jobs": "/cogitate/jobs"}
    ours = [
        web.url(f"{address}{end}", handler, {"page": page}, name=f"{page}{suffix}")
        for page, address in addresses.items()
        for end, handler, suffix in (("", PageView, ""), ("/data", PageData, "-data"))
    ]
    ours.append(web.url("/cogitate/jobs/matches", PageData, {"page": "matches"}, name="jobs-matches"))
    ours.append(web.url(r"/cogitate/static/(.*)", web.StaticFileHandler, {"path": STATIC}, name="cogitate-static"))
    ours += [web.url(f"/minds/{part}", MindsPart, {"page": part}) for part in PARTS]
    ours.append(web.url("/minds", MindsView, {"page": "minds"}, name="minds"))
    ours.append(web.url("/steering/ask", Asking, {"client_of": lambda app: _readings(app).state}, name="ask"))
    options.format_task = patches.with_true_state  # --conf may name another file
    options.tasks_columns = COLUMNS  # Flower's own default omits the arguments; --tasks-columns overrides it
    urls.handlers[-1:-1] = ours  # before the last handler, which answers every address with 404
    urls.handlers.insert(0, web.url(r"/", Start))
    urls.handlers[-1:-1] = [web.url(r"/healthz", Probe, {"waits": False}), web.url(r"/readyz", Probe, {"waits": True})]
    urls.handlers[-1:-1] = [web.url(r"/demand", Demand)]
    patches.apply()

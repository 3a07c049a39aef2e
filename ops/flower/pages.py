"""The pages Cogitate, Budgets and Cadence: our data with Flower's handlers, authentication, prefix and style.

`workers.celery_app` finds `register` through the entry point group "cogitate.flower" when the command is Flower. The
pages only read.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, ClassVar

from celery import Celery
from flower import urls
from flower.options import options
from flower.utils.tasks import get_task_by_id
from flower.views import BaseHandler
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from tornado import web
from tornado.ioloop import IOLoop

from ops.flower import patches
from ops.flower.loader import PagesLoader
from ops.flower.readings import PATIENCE, Readings
from scheduler.config.settings import ConfigurationError, Settings
from scheduler.journal.lines import JournalError
from scheduler.ledger.errors import LedgerError, RunMissing
from tasks.registry import kind_names
from workers.publish import queue_key

TABS = {"overview": "Cogitate", "budgets": "Budgets", "cadence": "Cadence"}
COLUMNS = "name,args,state,received,runtime,uuid"  # of the task list: "reflect", "isabella · tick 420 · ≤ 1 call"
INTERVAL = 2000  # milliseconds between two readings of an open page
NO_ANSWER = 3000  # milliseconds after which an open page says that it has no answer
WHAT_TO_DO = "runs wait or go on by heuristic until it does. See whether its process and machine live: cogitate doctor"


class Unreadable(web.HTTPError):
    """An answer that the runs cannot be read, and what to do about it."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(status, "%s", said)
        self.reason_said = said


@cache
def _readings(app: Celery) -> Readings:
    """Return the readings of this process."""
    return Readings(Settings(), {kind: queue_key(app, kind) for kind in kind_names()})


class PageHandler(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """A handler that reads what a page shows."""

    page: ClassVar[str]

    def initialize(self, page: str) -> None:
        """Set the page, a key of `TABS`."""
        self.page = page  # type: ignore[misc]  # tornado makes one handler a request

    async def reading(self) -> dict[str, Any]:
        """Return what the page shows now.

        Raises:
            web.HTTPError: 404 when there is no such run, 503 when the state or the broker does not answer, a journal
                was changed, or a run cannot be read.
        """
        run = self.get_argument("run", None, escape=False) or None
        readings = _readings(self.capp)
        read = {"overview": readings.overview, "budgets": readings.budgets, "cadence": readings.cadence}[self.page]
        try:
            found: dict[str, Any] = await IOLoop.current().run_in_executor(None, read, run)
        except RunMissing as error:
            raise web.HTTPError(404, str(error)) from error
        except JournalError as error:
            raise Unreadable(503, f"{error}; `cogitate audit RUN` says where") from error
        except LedgerError as error:  # damaged, or of a newer version
            raise Unreadable(503, str(error)) from error
        except RedisTimeoutError as error:
            raise Unreadable(503, f"Redis does not answer within {PATIENCE:g} s; {WHAT_TO_DO}") from error
        except (RedisError, OSError, ConfigurationError) as error:
            raise Unreadable(503, f"Redis does not answer: {type(error).__name__}: {error}; {WHAT_TO_DO}") from error
        self._mark_known(found)
        return found

    def _mark_known(self, found: dict[str, Any]) -> None:
        """List the jobs whose task has a page in Flower: one that began before Flower has none."""
        failed = found.get("recent", {}).get("failed", ())
        oldest = [kind["oldest"] for kind in found.get("open", {}).values() if kind["oldest"]]
        ids = [*(job["id"] for job in failed), *oldest]
        found["known"] = [one for one in ids if get_task_by_id(self.application.events, one) is not None]


class PageView(PageHandler):
    """The handler of a page, which contains its first reading."""

    @web.authenticated
    async def get(self) -> None:
        """Render the page."""
        try:
            found = await self.reading()
        except Unreadable as error:  # the page stays, and goes on by itself once the runs can be read
            self.set_status(error.status_code)
            found = {"runs": [], "error": error.reason_said}
        self.render(
            f"{self.page}.html",
            reading=json.dumps(found).replace("<", "\\u003c"),  # it stands in a script element
            page=self.page,
            title=TABS[self.page],
            interval=INTERVAL,
            patience=NO_ANSWER,
        )


class PageData(PageHandler):
    """The handler of a page's reading as JSON, by which an open page refreshes itself."""

    @web.authenticated
    async def get(self) -> None:
        """Write the reading."""
        self.set_header("Cache-Control", "no-store")
        try:
            self.write(await self.reading())
        except Unreadable as error:
            self.set_status(error.status_code)
            self.write({"error": error.reason_said})


class Start(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """The handler of Flower's own address, which leads to the first of our pages."""

    def get(self) -> None:
        """Redirect."""
        self.redirect(self.reverse_url("overview"))


class Probe(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """The handler of a probe, which asks for no password, like Flower's own /healthcheck."""

    def initialize(self, waits: bool) -> None:
        """Set whether the probe fails while Redis does not answer."""
        self.waits = waits

    async def get(self) -> None:
        """Write whether Redis answers."""
        redis = await IOLoop.current().run_in_executor(None, _readings(self.capp).redis)
        self.set_header("Cache-Control", "no-store")
        self.set_status(503 if self.waits and redis != "answers" else 200)
        self.write({"redis": redis})


def register() -> None:
    """Add the pages to Flower in this process, before it reads its options. A second call changes nothing."""
    if "template_loader" in urls.settings:
        return
    urls.settings["template_loader"] = PagesLoader(urls.settings["template_path"], TABS)
    ours = [
        web.url(path, handler, {"page": page}, name=name)
        for page in TABS
        for path, handler, name in ((f"/{page}", PageView, page), (f"/{page}/data", PageData, f"{page}-data"))
    ]
    options.tasks_columns = COLUMNS  # Flower's own default omits the arguments; --tasks-columns overrides it
    urls.handlers[-1:-1] = ours  # before the last, which answers 404 to everything
    urls.handlers.insert(0, web.url(r"/", Start))
    urls.handlers[-1:-1] = [web.url(r"/healthz", Probe, {"waits": False}), web.url(r"/readyz", Probe, {"waits": True})]
    patches.apply()

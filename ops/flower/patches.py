"""Patches of flower 2.2.0, which has no hook for any of them.

Without the first, a Redis user that may read and subscribe but not send to workers gets no events: Flower pings
workers before it listens, and restarts forever if it may not. With it, Flower listens anyway, since workers send
heartbeats unprompted. Facts that Flower must request (a worker's page: pool, settings, queues) stay empty, and Redis
refuses its buttons.

Without the second, Flower exits with a traceback if its address is in use.

Without the third, a signal does not end Flower while Redis is down: the interpreter waits for threads that wait for
Redis. These threads have nothing to save. Nor does SIGTERM end Flower if it arrives during a finalizer: Flower's
handler raises SystemExit, which Python ignores there. The event loop handles both signals instead.

Without the fourth, Flower ignores the value in "--port 5577" and listens on its default port.

Without the fifth, another site can show Flower's pages in a frame and trick a visitor into clicking their buttons.

The template loader adds Cogitate's templates, its pages in Flower's navigation, and links from tasks to jobs. All
pages of Flower include `navbar.html`, so the loader extends that file and `task.html` when it loads them; copies of the
files would become outdated.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, Never

import structlog
from celery.events import EventReceiver
from flower import command, events
from flower.app import Flower
from flower.views import BaseHandler
from kombu.exceptions import OperationalError
from redis.exceptions import NoPermissionError
from tornado.options import options
from tornado.template import Loader, Template

from cogitate.memory.errors import CogitateError


def with_values(arguments: Iterable[str]) -> list[str]:
    """Join each option with its value, as Flower reads them: "--port 5577" becomes "--port=5577".

    Flower ignores a separate value. Its switches take no value.
    """
    known = {name.replace("_", "-"): value for name, value in options.as_dict().items()}
    joined: list[str] = []
    for argument in arguments:
        option = joined[-1].removeprefix("--").replace("_", "-") if joined and joined[-1].startswith("--") else ""
        if option in known and not isinstance(known[option], bool) and not argument.startswith("--"):
            joined[-1] = f"{joined[-1]}={argument}"
        else:
            joined.append(argument)
    return joined


log = structlog.get_logger()

_apply_options = command.apply_options
_start_http_server = Flower.start_http_server
_start = Flower.start
_set_default_headers = BaseHandler.set_default_headers


class ReadOnlyReceiver(EventReceiver):  # type: ignore[misc]  # celery is untyped
    """An event receiver that works even if it may not ping workers."""

    def wakeup_workers(self, channel: object = None) -> None:
        """Ping the workers, if Redis allows it."""
        try:
            super().wakeup_workers(channel=channel)
        except (NoPermissionError, OperationalError) as error:
            if not isinstance(error, NoPermissionError) and not isinstance(error.__cause__, NoPermissionError):
                raise
            log.info("flower.looks_on", why=str(error)[:200])


def _start_or_exit(self: Any) -> Any:
    """Start Flower's HTTP server, or exit with one line that names the address."""
    try:
        return _start_http_server(self)
    except OSError as error:
        where = self.options.unix_socket or f"{self.options.address or '*'}:{self.options.port}"
        raise SystemExit(
            f"cogitate: Flower cannot listen at {where} ({error.strerror or error}): stop the process that does, or "
            "choose another port with --port=N"
        ) from None


def _start_and_leave(self: Any) -> Never:
    """Run Flower until a signal stops it, then exit without waiting for its threads."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        self.io_loop.asyncio_loop.add_signal_handler(stop, self.stop)
    _start(self)
    logging.shutdown()
    os._exit(0)


def _apply_joined_options(program: str, arguments: Iterable[str]) -> None:
    """Apply Flower's options, whose values may be separate arguments."""
    _apply_options(program, with_values(arguments))


def _with_frame_headers(self: Any) -> None:
    """Set Flower's headers, and those that forbid other sites to frame its pages."""
    _set_default_headers(self)
    self.set_header("X-Frame-Options", "DENY")
    self.set_header("Content-Security-Policy", "frame-ancestors 'none'")


def apply() -> None:
    command.apply_options = _apply_joined_options
    events.EventReceiver = ReadOnlyReceiver
    Flower.start_http_server = _start_or_exit
    Flower.start = _start_and_leave
    BaseHandler.set_default_headers = _with_frame_headers


STATES = {
    "heuristic:": "HEURISTIC",  # the heuristic replaced a model
    "late:": "LATE",
    "no result": "NO RESULT",
    "not run:": "NOT RUN",
}


def with_true_state(task: Any) -> Any:
    """Return Flower's task with the state of its job, which the result names; `task` is a copy.

    Celery's SUCCESS only means that the task has ended.
    """
    result = str(getattr(task, "result", None) or "").strip("'\"")
    if task.state == "SUCCESS":
        task.state = next((state for begin, state in STATES.items() if result.startswith(begin)), task.state)
    return task


OURS = Path(__file__).parent / "templates"
END_OF_LIST = "</ul>"  # end of the navigation's first list, which has the pages
END_OF_FACTS = "</dl>"  # end of a task's only list of facts


class FlowerChanged(CogitateError, RuntimeError):
    """The installed Flower's template lacks the place for an addition; the message names the template."""


class PagesLoader(Loader):
    """A loader that takes a template from Cogitate's folder, otherwise from Flower's."""

    def __init__(self, root: str, tabs: dict[str, str]) -> None:
        """Add entries to the navigation: `tabs` maps the name of a handler and its tab to the title."""
        super().__init__(root)
        self._tabs = tabs

    def _create_template(self, name: str) -> Template:
        ours = OURS / name
        source = (ours if ours.is_file() else Path(self.root) / name).read_text(encoding="utf-8")
        if name == "navbar.html":
            source = with_tabs(source, self._tabs)
        if name == "task.html":
            source = with_job_link(source)
        return Template(source, name=name, loader=self)


def with_tabs(navbar: str, tabs: dict[str, str]) -> str:
    """Add entries to Flower's navigation, after its own and with the same markup.

    Raises:
        FlowerChanged: when the navigation has no list of pages.
    """
    before, end, after = navbar.partition(END_OF_LIST)
    if not end:
        raise FlowerChanged("Flower's navbar.html has no list of pages; install flower 2.2")
    return before + "".join(_entry(name, title) for name, title in tabs.items()) + end + after


def with_job_link(task: str) -> str:
    """Add to Flower's page of a task a link to the page of its job, which has the same id.

    Raises:
        FlowerChanged: when the page has no list of facts.
    """
    before, end, after = task.partition(END_OF_FACTS)
    if not end:
        raise FlowerChanged("Flower's task.html has no list of facts; install flower 2.2")
    return before + _JOB_LINK + end + after


_JOB_LINK = (
    '<div class="detail-row task-data-row"><dt>Job</dt><dd>'
    "<a href=\"{{ reverse_url('job') }}?id={{ url_escape(task.uuid) }}\">Its life, from request to effects</a>"
    "</dd></div>\n"
)


def _entry(name: str, title: str) -> str:
    active = f"active_tab == '{name}'"
    return (
        '<li class="nav-item">'
        f'<a class="nav-link{{% if {active} %}} active{{% end %}}" href="{{{{ reverse_url(\'{name}\') }}}}" '
        f'{{% if {active} %}}aria-current="page"{{% end %}}>{escape(title)}</a></li>\n'
    )

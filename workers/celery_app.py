"""The Celery app: one task per kind of job, named like the kind, whose only argument is a job's id.

Settings are in `celeryconfig`. A task does nothing but hand the id to `workers.runner.run_job`, which claims the job
from the ledger: a message is a hint, and a false one changes nothing. What is no hint at all is refused in `transport`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import click
import structlog
from celery import Celery, signals

from scheduler.settings import ConfigurationError
from tasks.registry import kinds
from workers import flower_broker, lifeline, transport
from workers.broker_url import kombu_url, tls

transport.register()
flower_broker.register()
lifeline.register()


def make_app(broker: str | None = None) -> Celery:
    """A Celery app for the broker at this Redis URL, or for the one that the environment's settings name."""
    made = Celery("cogitate", set_as_current=broker is None)
    made.config_from_object("celeryconfig")
    if broker is not None:
        made.conf.update(broker_url=kombu_url(broker), broker_use_ssl=tls(broker))
    for kind in kinds():
        made.task(_task(), name=kind.name, shared=False)
    return made


def _task() -> Callable[[str], None]:
    def run(job_id: str) -> None:
        from workers.runner import run_job  # here: the model's client need not load to publish or to draw Flower

        run_job(job_id)

    return run


app = make_app()


@signals.after_setup_logger.connect  # type: ignore[untyped-decorator]
def _set_level(loglevel: int | None = None, **_: Any) -> None:
    """In a worker, our events follow the worker's `--loglevel`."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(loglevel or logging.WARNING))


def require_broker() -> None:
    """End the `celery` command with one line when there is no broker to talk to, instead of a traceback."""
    try:
        app.conf.broker_url  # noqa: B018  # looked up now, see celeryconfig
    except ConfigurationError as error:
        raise SystemExit(f"cogitate: {error}") from None


_context = click.get_current_context(silent=True)
if _context is not None and _context.find_root().command.name == "celery":
    require_broker()

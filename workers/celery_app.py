"""The Celery app: one task per kind of job, named after the kind, whose argument is a job's id.

Settings are in `celeryconfig`. A task only passes the id to `cogitate.workers.jobs.runner.run_job`, which claims the
job from the ledger: a message is a hint, and a false one changes nothing. `transport` refuses messages that are not
hints.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import click
import structlog
from celery import Celery, signals

from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.tasks.registry import kinds
from cogitate.workers import about
from cogitate.workers.jobs import metrics, model_lane, preparation
from cogitate.workers.processes import lifeline, worker_presence
from cogitate.workers.processes.log_formats import escape_foreign, format_foreign, json_processors, text_processors
from cogitate.workers.transport import redis_transport as transport
from cogitate.workers.transport.broker_url import correct_flower, kombu_url, tls
from cogitate.workers.transport.event_batches import EventBatches

about.register()
transport.register()
correct_flower()
lifeline.register()
metrics.register()
model_lane.register()
preparation.register()
worker_presence.register()

FLOWER_PAGES = "cogitate.flower"  # entry points that extend Flower; this package must not import what they load


def make_app(broker: str | None = None) -> Celery:
    """Return a Celery app for the broker at this Redis URL, or for the one that the environment's settings name."""
    made = Celery("cogitate", set_as_current=broker is None)
    made.steps["consumer"].add(EventBatches)
    made.config_from_object("cogitate.celeryconfig", force=True)  # which also loads the host's own kinds
    if broker is not None:
        made.conf.update(broker_url=kombu_url(broker), broker_use_ssl=tls(broker))
    for kind in kinds():
        made.task(_task(), name=kind.name, shared=False)
    return made


def _task() -> Callable[..., str]:
    def run(job_id: str) -> str:
        from cogitate.workers.jobs.runner import (
            run_job,  # here, as neither publishing nor Flower needs the model's client
        )

        return run_job(job_id)

    return run


def _make_app_for_command() -> Celery:
    """Return the app; if it cannot be made for the `celery` command, exit with one line instead of a traceback.

    In a worker started by a host this covers every error, including those of the host's own kinds: the host logs it.
    """
    try:
        made = make_app()
        context = click.get_current_context(silent=True)
        if context is not None and context.find_root().command.name == "celery":
            made.conf.broker_url  # noqa: B018  # evaluated now, see celeryconfig
            if context.find_root().invoked_subcommand == "flower":
                for pages in entry_points(group=FLOWER_PAGES):
                    pages.load()()
    except ConfigurationError as error:
        if not lifeline.is_child():
            raise SystemExit(f"cogitate: {error}") from None
        print(f"cogitate: {error}", file=sys.stderr)
        raise SystemExit(lifeline.CANNOT_START) from None
    except Exception:
        if not lifeline.is_child():
            raise
        traceback.print_exc()
        raise SystemExit(lifeline.CANNOT_START) from None
    return made


app = _make_app_for_command()


@signals.after_setup_logger.connect  # type: ignore[untyped-decorator]
def _set_up_logs(loglevel: int | None = None, logger: logging.Logger | None = None, **_: object) -> None:
    """Apply the worker's `--loglevel` to Cogitate's events, and the setting `log` to all output."""
    as_json = Settings().log == "json"
    structlog.configure(processors=json_processors() if as_json else text_processors(sys.stdout))
    if logger is not None:
        (format_foreign if as_json else escape_foreign)(logger)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(loglevel or logging.WARNING))


@signals.celeryd_after_setup.connect  # type: ignore[untyped-decorator]
def _leave_out_banner(instance: Any = None, **_: object) -> None:
    """Suppress the banner of a worker that logs JSON."""
    if Settings().log == "json":
        instance.quiet = True

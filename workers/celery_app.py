"""The Celery app: one task per kind of job, named after the kind; its argument is a job's id.

Settings are in `celeryconfig`. `cogitate.workers.jobs.hinted_tasks` takes the messages of a worker with threads; in a
pool of processes a task passes the id to `cogitate.workers.jobs.process_lane.run_job`. Both claim the job from the
ledger: a message is only a hint, and a false one changes nothing. `transport` refuses messages that are not hints.

A worker prepares before its first message. With a broken template, or settings that its runner refuses, it would fail
on every message, although other workers could run the jobs. Such a worker exits with one line that says why, and
records the reason in place of its heartbeat, so that `cogitate status`, `cogitate doctor` and Flower report it.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import entry_points, version
from typing import Any, TypedDict

import click
import structlog
from celery import Celery, current_task, signals
from celery.worker import state
from celery.worker.control import inspect_command
from redis.exceptions import RedisError

from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.ledger.connect import connect
from cogitate.scheduler.ledger.worker_signs import WorkerTrouble, give_sign
from cogitate.tasks.registry import kinds, use_prompts
from cogitate.workers.jobs import metrics, model_lane
from cogitate.workers.processes import worker_process
from cogitate.workers.processes.logs import escape_foreign, format_foreign, json_processors, text_processors
from cogitate.workers.processes.worker_process import BEFORE_CLAIM, reason_of
from cogitate.workers.telemetry.exporting import started
from cogitate.workers.telemetry.job_trace import HEADER
from cogitate.workers.transport import amqp_transport, redis_transport, room
from cogitate.workers.transport.broker_url import correct_flower, kombu_url, tls
from cogitate.workers.transport.event_batches import EventBatches

redis_transport.register()
amqp_transport.register()
correct_flower()
worker_process.register()
metrics.register()
model_lane.register()

#: A name, not an import: only a worker loads it, since it loads everything that jobs need.
STRATEGY = "cogitate.workers.jobs.hinted_tasks:strategy"
FLOWER_PAGES = "cogitate.flower"  # entry points that extend Flower; this package must not import what they load


def make_app(broker: str | None = None) -> Celery:
    """Return a Celery app for the broker at this URL, or for the broker in the environment's settings."""
    celery = Celery("cogitate", set_as_current=broker is None)
    celery.steps["consumer"].add(EventBatches)
    celery.config_from_object("cogitate.celeryconfig", force=True)  # also loads the host's own kinds
    if broker is not None:
        celery.conf.update(broker_url=kombu_url(broker), broker_use_ssl=tls(broker))
    for kind in kinds():
        celery.task(_task(), name=kind.name, shared=False, Strategy=STRATEGY)
    return celery


def _task() -> Callable[..., str]:
    def run(job_id: str) -> str:
        from cogitate.workers.jobs.process_lane import run_job  # imported here for the reason in `_warm_up`

        telemetry = started()
        if telemetry is not None:
            telemetry.arrived(job_id, current_task.request.get(HEADER))
        return run_job(job_id)

    return run


def _make_app_for_command() -> Celery:
    """Create the app; if that fails under the `celery` command, exit with one line instead of a traceback.

    In a worker that a host started this covers every error, including those of the host's own kinds: the host logs
    the output.
    """
    try:
        celery = make_app()
        context = click.get_current_context(silent=True)
        if context is not None and context.find_root().command.name == "celery":
            celery.conf.broker_url  # noqa: B018  # evaluated now, see celeryconfig
            if context.find_root().invoked_subcommand == "flower":
                for pages in entry_points(group=FLOWER_PAGES):
                    pages.load()()
    except ConfigurationError as error:
        if not worker_process.is_child():
            raise SystemExit(f"cogitate: {error}") from None
        print(f"cogitate: {error}", file=sys.stderr)
        raise SystemExit(worker_process.CANNOT_START) from None
    except Exception:
        if not worker_process.is_child():
            raise
        traceback.print_exc()
        raise SystemExit(worker_process.CANNOT_START) from None
    return celery


app = _make_app_for_command()


class WorkerAbout(TypedDict):
    """A worker's description of itself."""

    version: str  # of this product
    schema: int  # the version that it reads
    kinds: list[str]  # the kinds of job that it knows


@inspect_command(help="Version, schema and kinds of this worker.")  # type: ignore[untyped-decorator]
def about(state: object) -> WorkerAbout:
    """Return a worker's description of itself, as `celery -A cogitate inspect about` shows it."""
    return {"version": version("cogitate"), "schema": SCHEMA, "kinds": [kind.name for kind in kinds()]}


@signals.celeryd_after_setup.connect  # type: ignore[untyped-decorator]
def _prepare(sender: str, instance: Any, **_: object) -> None:
    """Load what jobs need, which takes a second, or exit."""
    try:
        if "prefork" in getattr(instance.pool_cls, "__module__", str(instance.pool_cls)):
            use_prompts(Settings().prompts)  # threads do not survive a fork: each child creates its own runner
        else:
            _warm_up()
    except (RedisError, OSError):  # Redis is down: the first job tries again
        pass
    except Exception as error:
        why = reason_of(error)
        print(f"cogitate: this worker cannot run jobs: {why}", file=sys.stderr, flush=True)
        _record_trouble(sender, why)
        raise SystemExit(worker_process.CANNOT_START) from None
    BEFORE_CLAIM.end_with(_end)


@signals.worker_process_init.connect  # type: ignore[untyped-decorator]
def _warm_up(**_: object) -> None:
    from cogitate.workers.jobs.process_lane import warm_up  # here, since neither publishing nor Flower needs it

    warm_up()


def _end() -> None:
    """Take no further messages, finish the running jobs, and exit."""
    room.take_within(lambda: 0)
    state.should_stop = worker_process.USELESS


def _record_trouble(worker: str, why: str) -> None:
    settings = Settings()
    with contextlib.suppress(RedisError, OSError, ConfigurationError):  # the log still says why
        client = connect(settings.state_url(), settings.socket_timeout, retries=0)
        give_sign(client, worker, worker_process.supervisor(), (), WorkerTrouble(why=why, ended=True))
        client.close()


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

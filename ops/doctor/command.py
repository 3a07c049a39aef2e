"""`cogitate doctor`: check everything that runs need, and name a remedy for each problem."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

import msgspec
from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError
from rich.table import Table
from rich.text import Text

from cogitate.hosting.finding import Finding, failed, ok, warning
from cogitate.hosting.pace_fit import examine_pace
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import SharedOptions, open_state
from cogitate.ops.doctor.endpoints import examine_endpoints
from cogitate.ops.doctor.redis import WAKE, examine_redis
from cogitate.ops.formatting.vitals import format_failing_worker, format_missing_worker, format_unanswered_worker
from cogitate.ops.world_choice import DEFAULT_AGENTS
from cogitate.prompts.render import TemplateError, check_templates
from cogitate.scheduler.budget.settings_checks import (
    check_cadences,
    check_limits,
    check_models,
    check_prices,
    check_spending,
)
from cogitate.scheduler.config.facts import SCHEMA
from cogitate.scheduler.config.kind_modules import load_kinds
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.settings_faults import misspelt_variables
from cogitate.scheduler.config.urls import is_amqp_url
from cogitate.scheduler.inspection.vitals import UNREADABLE, RunHead, run_heads
from cogitate.scheduler.ledger.connect import ServerSilent, check_carries_messages, connect_to_read
from cogitate.scheduler.ledger.presence import HELD
from cogitate.scheduler.ledger.worker_signs import WorkersSeen, workers_seen
from cogitate.tasks.registry import kind_names, kinds

if TYPE_CHECKING:
    from cogitate.workers.celery_app import WorkerAbout
from amqp.exceptions import AMQPError

from cogitate.ops.doctor.redis import examine_latency
from cogitate.workers.transport.amqp_connection import OLDEST, is_too_old, opened, version_of, waiting_hints

STYLE = {"ok": "green", "warning": "yellow", "failed": "bold red"}


def doctor(options: SharedOptions) -> int:
    """Check Redis, broker, workers, endpoints, clock and configuration, and name a remedy for each problem.

    This calls no model and changes nothing. The exit code is 1 if a check failed.
    """
    settings = options.settings()
    findings = [*examine_configuration(settings), *_examine_servers(settings)]
    if options.as_json:
        print(json.dumps([msgspec.to_builtins(finding) for finding in findings]), flush=True)
    else:
        _print(findings)
    return 1 if any(finding.grade == "failed" for finding in findings) else 0


def examine_configuration(settings: Settings) -> list[Finding]:
    """Check the settings as a run does at its start."""
    try:
        load_kinds(settings)
        check_templates(settings.prompts)
        check_spending(settings)
        check_prices(settings)
        check_limits(settings, kinds())
        check_models(settings, kinds())
        check_cadences(settings, kinds())
    except (ConfigurationError, TemplateError) as error:
        return [failed("configuration", str(error), "`cogitate config` shows every setting and where it comes from")]
    misspelt = [
        warning(variable, "there is no such setting", f"did you mean {near}?")
        for variable, near in misspelt_variables(Settings.model_fields)
    ]
    return [ok("configuration", f"valid; {len(kinds())} kinds are known"), *misspelt]


def _examine_servers(settings: Settings) -> list[Finding]:
    from cogitate.workers.celery_app import make_app  # imported here, since the import reads all settings

    findings: list[Finding] = []
    try:
        with open_state(settings, create=True) as client:
            findings = [*examine_redis(client, "state")]
            if len(findings) == 1:
                return findings  # the server does not answer
            url = settings.messages_url()
            about_broker = _examine_broker(url, settings.socket_timeout)
            findings += about_broker
            heads = run_heads(client)
            findings += examine_runs(heads)
            running = any(head.status == "running" and head.held for head in heads)
            if any(finding.what == "broker" for finding in about_broker):
                advice = "run this again when the broker takes messages"
                findings.append(warning("workers", "cannot be checked: see the findings on the broker", advice))
            else:
                with make_app(url) as app:
                    findings += examine_workers(app, [kind.name for kind in kinds()], expected=running)
            findings += examine_signs(workers_seen(client))
            findings += examine_endpoints(settings, client)
            findings += examine_pace(settings, client, DEFAULT_AGENTS)
    except ServerSilent as error:
        return [failed("state", str(error), WAKE)]
    except ConfigurationError as error:
        return [failed("state", str(error), "correct redis_url, or unset it to use the embedded server")]
    except RedisError as error:
        return [*findings, failed("state", f"stopped answering: {error}", "see its log, then run this again")]
    return findings


def _examine_broker(url: str, timeout: float) -> list[Finding]:
    if is_amqp_url(url):
        return [*examine_rabbitmq(url, timeout, kind_names())]
    check_carries_messages(url, timeout)
    with connect_to_read(url, timeout) as broker:
        return [*examine_redis(broker, "broker")]


def examine_runs(heads: Sequence[RunHead]) -> list[Finding]:
    """Return a finding for each run that lost its host or is unreadable, and the number of runs."""
    found = [
        warning(
            f"run {head.run}",
            f"{head.status}, but its host is gone",
            f"resume it: cogitate run --run {head.run} --resume (or with the program that created it)",
        )
        for head in heads
        if head.status in HELD and not head.held
    ]
    found += [
        failed(f"run {head.run}", "its data in Redis cannot be read", f"see why: cogitate audit {head.run}")
        for head in heads
        if head.status == UNREADABLE
    ]
    held = sum(head.held for head in heads)
    return [*found, ok("runs", f"{len(heads)}; {held} with a host")]


def _print(findings: list[Finding]) -> None:
    table = Table("", "what", "found", "what to do", box=None, pad_edge=False)
    for finding in findings:
        grade = Text(finding.grade, style=STYLE[finding.grade])
        table.add_row(grade, finding.what, finding.found, finding.advice)
    Terminal().print(table)


ANSWER_WITHIN = 2.0  # seconds


def examine_workers(app: Celery, kinds: Sequence[str], *, expected: bool) -> Iterator[Finding]:
    """Check every worker on the broker.

    Args:
        kinds: the kinds that this installation knows; each has a queue with its name.
        expected: whether a worker must be running; otherwise none needs to, since hosts start workers.
    """
    with app.connection_for_write() as connection:  # a new one: those in kombu's pool may predate the broker's restart
        inspect = app.control.inspect(timeout=ANSWER_WITHIN, connection=connection)
        try:
            about: Mapping[str, WorkerAbout] = inspect._request("about") or {}
            consumed = (inspect.active_queues() if about else None) or {}
        except (RedisError, OperationalError) as error:
            if "permission" not in str(error):
                raise
            yield warning(
                "workers", f"this Redis user may not inspect them: {error}", "use the user operator, or check Flower"
            )
            return
    if not about:
        if expected:
            advice = "start one: cogitate worker"
            yield failed("workers", "none answers, and a run needs them", advice)
        else:
            yield ok("workers", "none runs; `cogitate run` starts its own")
        return
    taken: dict[str, int] = {}
    for queues in consumed.values():
        for queue in queues:
            taken[queue["name"]] = taken.get(queue["name"], 0) + 1
    yield ok("workers", f"{len(about)} answer: {', '.join(sorted(about)[:5])}" + (" …" if len(about) > 5 else ""))
    unserved = [kind for kind in kinds if kind not in taken]
    if unserved:
        yield failed(
            "queues",
            f"no worker consumes {', '.join(unserved)}",
            "start a worker without --queues, or name these queues",
        )
    else:
        yield ok("queues", f"each of {len(kinds)} has a worker")
    yield from _knowledge(about, kinds)


def examine_signs(seen: WorkersSeen) -> Iterator[Finding]:
    """Report workers that died, workers that cannot claim jobs or ended for that reason, and those without answers."""
    for missing in seen.missing:
        what = format_missing_worker(missing).removeprefix(f"Worker {missing.worker} ")
        yield warning(f"worker {missing.worker}", what, "see why it ended, then start one: cogitate worker")
    for failing in seen.failing:
        what = format_failing_worker(failing).removeprefix(f"Worker {failing.worker} ")
        yield failed(f"worker {failing.worker}", what, "correct the cause on its machine, then start it again")
    for unanswered in seen.unanswered:
        what = format_unanswered_worker(unanswered).removeprefix(f"Worker {unanswered.worker}: ")
        yield failed(f"worker {unanswered.worker}", what, "correct its settings, then start it again")


def _knowledge(about: Mapping[str, WorkerAbout], kinds: Sequence[str]) -> Iterator[Finding]:
    for worker, facts in sorted(about.items()):
        lacking = [kind for kind in kinds if kind not in facts["kinds"]]
        if lacking:
            yield failed(
                f"worker {worker}", f"does not know {', '.join(lacking)}", "give it the host's setting `kinds`"
            )
        if facts["schema"] != SCHEMA:
            yield failed(
                f"worker {worker}",
                f"reads schema {facts['schema']}, this is {SCHEMA}",
                f"install cogitate {version('cogitate')} there; it has {facts['version']}",
            )
        elif facts["version"] != version("cogitate"):
            yield warning(
                f"worker {worker}",
                f"has version {facts['version']}, this is {version('cogitate')}",
                "install the same version everywhere",
            )


def examine_rabbitmq(url: str, timeout: float, kinds: Sequence[str]) -> Iterator[Finding]:
    """Check RabbitMQ, without declaring anything."""
    try:
        with opened(url, timeout) as connection:
            version = f"RabbitMQ {version_of(connection)}"
            if is_too_old(connection):
                oldest = ".".join(map(str, OLDEST))
                yield failed("broker version", version, f"use RabbitMQ {oldest} or newer")
                return
            yield ok("broker version", version)
            waiting = waiting_hints(connection, kinds)
            yield ok("broker hints", f"{sum(waiting.values()):,} wait for a worker")
            yield examine_latency("broker", lambda: connection.channel().close(), "RabbitMQ", trips=2)
    except ConfigurationError as error:
        yield failed("broker", str(error), "then run this again")
    except (AMQPError, OSError) as error:
        yield failed("broker", f"cannot be checked: {error}", "see its log")

"""The commands that serve until a signal stops them: `worker`, `flower`, `gateway` and `host`."""

from __future__ import annotations

import os
import select
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from cogitate.hosting.terminal import Terminal
from cogitate.memory.errors import how_to_install
from cogitate.ops.command_options import DataDir, LimitTokens, LimitUsd, Llm, Verbose, check_limited, read_settings
from cogitate.ops.signals import interruptible
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.config.urls import is_amqp_url
from cogitate.scheduler.ledger.connect import check_soon
from cogitate.workers.processes.supervisor import WorkerPool, worker_command, worker_environment
from cogitate.workers.transport.amqp_connection import check_login

POLL_INTERVAL = 0.5  # seconds
HELP = {"--help", "-h", "--version"}


def worker(context: typer.Context, data_dir: DataDir = None) -> int:
    """Run a worker: `celery -A cogitate worker` with the settings filled in. Further options are Celery's.

    A worker that dies is restarted. The first Ctrl-C or SIGTERM lets it finish its jobs, the second stops it at once.
    """
    settings = read_settings(0, data_dir=data_dir)
    url = settings.state_url()
    check_soon(url)
    if is_amqp_url(broker := settings.messages_url()):
        check_login(broker, settings.socket_timeout)  # the worker waits for a broker that is away, as for Redis
    if HELP.intersection(context.args):
        command = [*worker_command("worker@%h"), *context.args]
        sys.stdout.flush()
        os.execve(command[0], command, worker_environment(settings))
    stop_requested, request_stop = os.pipe()  # a pipe instead of an event, see `cogitate.ops.signals`
    with interruptible(lambda text: print(text, file=sys.stderr, flush=True)) as interruption:
        try:
            with (
                WorkerPool(settings, 1, arguments=context.args, shown=True) as pool,
                interruption.softened(lambda: os.write(request_stop, b"."), "the running jobs"),
            ):
                while not select.select([stop_requested], [], [], POLL_INTERVAL)[0]:
                    if not pool.any_left():
                        return 1
                pool.stop()
        except KeyboardInterrupt:
            return interruption.exit_code
    return 0


APP = "cogitate"


def flower(context: typer.Context, data_dir: DataDir = None) -> int:
    """Show tasks, budgets and cadence in a browser: `celery -A cogitate flower` with the settings filled in.

    Further options are Flower's. It listens on this machine only.
    """
    settings = read_settings(data_dir=data_dir)
    url = settings.state_url()
    check_soon(url)
    command = [sys.executable, "-m", "celery", "-A", APP, "flower", "--address=127.0.0.1", *context.args]
    sys.stdout.flush()
    os.execve(command[0], command, worker_environment(settings))


PORT = 8787
StartedWorkers = Annotated[
    int | None, typer.Option(metavar="W", help="Worker processes to start; 0: none, start them yourself.")
]


def gateway(
    address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on; any but a loopback address needs tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to listen on; 0: any free one.")] = PORT,
    tokens: Annotated[
        Path | None, typer.Option(metavar="FILE", help='Lines "HOST TOKEN"; or one token in COGITATE_GATEWAY_TOKEN.')
    ] = None,
    llm: Llm = None,
    limit_usd: LimitUsd = None,
    limit_tokens: LimitTokens = None,
    workers: StartedWorkers = None,
    data_dir: DataDir = None,
    verbose: Verbose = 0,
) -> int:
    """Serve hosts in any language: they open a run, post a turn for each tick, and apply the returned changes."""
    if find_spec("uvicorn") is None or find_spec("fastapi") is None:
        raise ConfigurationError(f"the gateway needs further packages: {how_to_install('gateway')}")
    # imported here, since no other command needs them
    from cogitate.ops.gateway.edge import read_tokens
    from cogitate.ops.gateway.server import serve

    settings = read_settings(
        verbose, workers=workers, llm=llm, limit_usd=limit_usd, limit_tokens=limit_tokens, data_dir=data_dir
    )
    check_limited(settings)
    known = read_tokens(tokens, settings.gateway_token)
    settings = settings.model_copy(update={"gateway_token": None})  # workers must not inherit it
    err = Terminal(stderr=True)

    def started(url: str) -> None:
        print(url, flush=True)  # flushed, so that the program that starts the gateway can read the line at once
        whom = "hosts with a token" if known else "programs on this machine"
        err.print(f"serving {whom} at {url}; its requests: {url}/openapi.json")

    with interruptible(err.print) as interruption:
        try:
            serve(settings, known, address=address, port=port, started=started)
        except KeyboardInterrupt:  # the server raises it again once it has stopped
            return interruption.exit_code
    return 0


def host(
    stdio: Annotated[bool, typer.Option("--stdio", help="Read messages from stdin, write answers to stdout.")] = False,
    llm: Llm = None,
    limit_usd: LimitUsd = None,
    limit_tokens: LimitTokens = None,
    workers: StartedWorkers = None,
    data_dir: DataDir = None,
    verbose: Verbose = 0,
) -> int:
    """Serve a parent process in any language: one JSON message per line in, one answer per line out."""
    if not stdio:
        raise ConfigurationError("give --stdio: messages come from stdin, a line each; for HTTP run cogitate gateway")
    from cogitate.hosting.protocol.host_table import HostTable
    from cogitate.hosting.protocol.stdio import StdioHost

    settings = read_settings(
        verbose, workers=workers, llm=llm, limit_usd=limit_usd, limit_tokens=limit_tokens, data_dir=data_dir
    )
    check_limited(settings)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # stdout carries only answers: redirect all other output to stderr
    with interruptible(lambda text: print(text, file=sys.stderr)) as interruption, answers:
        try:
            with HostTable(settings) as table:
                StdioHost(table).serve(sys.stdin.buffer, answers)
        except KeyboardInterrupt:
            return interruption.exit_code
    return 0

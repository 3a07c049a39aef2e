"""`cogitate fake-llm`: serve a stand-in for a model's endpoint, which answers correctly, slowly or wrongly as told."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import Verbose, program_name
from cogitate.ops.fake_llm.faults import KNOWN, parse_faults
from cogitate.ops.fake_llm.server import MOST_TAIL, Options, serve
from cogitate.ops.signals import interruptible
from cogitate.scheduler.config.settings import ConfigurationError

NOTES = (
    "Faults: any status from 400 to 599, with a Retry-After in seconds as in 429:30, and "
    + "; ".join(f"{name}: {what}" for name, what in KNOWN.items())
    + "."
)


def fake_llm(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0: any free port.")
    ] = 8000,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on; it asks for no key.")
    ] = "127.0.0.1",
    latency: Annotated[
        float, typer.Option("--latency", metavar="SECONDS", min=0, help="The latency of an answer.")
    ] = 0.0,
    batch_latency: Annotated[
        float, typer.Option("--batch-latency", metavar="SECONDS", min=0, help="The time that a batch file takes.")
    ] = 0.0,
    flex_latency: Annotated[
        float, typer.Option("--flex-latency", metavar="SECONDS", min=0, help="Further latency in the flex tier.")
    ] = 0.0,
    jitter: Annotated[
        float, typer.Option("--jitter", metavar="SECONDS", min=0, help="Random further latency, at most.")
    ] = 0.0,
    tail: Annotated[
        float,
        typer.Option(
            "--tail",
            metavar="SIGMA",
            min=0,
            max=MOST_TAIL,
            help="Sigma of a log-normal factor on the latency, such as 0.5.",
        ),
    ] = 0.0,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="NAME=RATE", help="A failure and its share of requests; see below."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="The seed of answers, latencies and failures.")] = 0,
    requests_per_minute: Annotated[
        int | None,
        typer.Option("--requests-per-minute", metavar="N", min=1, help="The rate limit; a request above it gets 429."),
    ] = None,
    burst: Annotated[
        int, typer.Option("--burst", metavar="N", min=0, help="Requests that may exceed the rate at once.")
    ] = 1,
    verbose: Verbose = 0,
) -> int:
    """Serve an OpenAI-compatible endpoint without a model, for load tests and for tests of failures.

    Equal requests get equal answers. /stats counts the requests. Ctrl-C stops the server.
    """
    logs.configure(verbose)
    options = Options(
        latency=latency,
        batch_latency=batch_latency,
        flex_latency=flex_latency,
        jitter=jitter,
        tail=tail,
        faults=parse_faults(fault or ()),
        seed=seed,
        requests_per_minute=requests_per_minute,
        burst=burst,
    )
    err = Terminal(stderr=True)

    def ready(url: str) -> None:
        print(url, flush=True)
        err.print(
            f"Counts: {url.removesuffix('/v1')}/stats. Ctrl-C ends it. Point a run at it with:\n"
            f"  OPENAI_API_KEY=any COGITATE_BASE_URL={url} {program_name()} run --llm openai --limit-tokens 1000000"
        )

    with interruptible(lambda _: None):
        try:
            serve(options, host=host, port=port, ready=ready)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise ConfigurationError(f"cannot listen on {host}:{port}: {reason}; choose another --port") from error
    return 0

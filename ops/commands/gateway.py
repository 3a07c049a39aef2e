"""`cogitate gateway`: serve hosts in any language over HTTP."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.memory.errors import how_to_install
from cogitate.ops.command_options import DataDir, LimitTokens, LimitUsd, Llm, Verbose, check_limited, read_settings
from cogitate.ops.signals import interruptible
from cogitate.scheduler.config.settings import ConfigurationError

EXAMPLE = """
Example: cogitate gateway

Example: cogitate gateway --address 0.0.0.0 --tokens hosts.txt
"""
PORT = 8787


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
    workers: Annotated[
        int | None, typer.Option(metavar="W", help="Worker processes to start; 0: none, start them yourself.")
    ] = None,
    data_dir: DataDir = None,
    verbose: Verbose = 0,
) -> int:
    """Serve hosts in any language: they open a run, post a turn for each tick, and apply the returned changes."""
    logs.configure(verbose)
    if find_spec("uvicorn") is None or find_spec("fastapi") is None:
        raise ConfigurationError(f"the gateway needs further packages: {how_to_install('gateway')}")
    from cogitate.ops.gateway.server import serve
    from cogitate.ops.gateway.tokens import read_tokens

    settings = read_settings(
        workers=workers, llm=llm, limit_usd=limit_usd, limit_tokens=limit_tokens, data_dir=data_dir
    )
    check_limited(settings)
    known = read_tokens(tokens, settings.gateway_token)
    settings = settings.model_copy(update={"gateway_token": None})  # imported here, since no other command needs it
    err = Terminal(stderr=True)

    def started(url: str) -> None:
        print(url, flush=True)  # flushed, so that a program that starts the gateway can read the first line at once
        whom = "hosts with a token" if known else "programs of this machine"
        err.print(f"serving {whom} at {url}; its requests: {url}/openapi.json", highlight=False, soft_wrap=True)

    with interruptible(lambda text: err.print(text, highlight=False)) as interruption:
        try:
            serve(settings, known, address=address, port=port, started=started)
        except KeyboardInterrupt:  # the server raises the signal again after its end
            return interruption.exit_code
    return 0

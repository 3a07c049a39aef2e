"""`cogitate host --stdio`: serve the parent process over its pipes."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from cogitate.hosting import logs
from cogitate.ops.command_options import DataDir, LimitTokens, LimitUsd, Llm, Verbose, check_limited, read_settings
from cogitate.ops.signals import interruptible
from cogitate.scheduler.config.settings import ConfigurationError

EXAMPLE = """
Example: cogitate host --stdio
"""


def host(
    stdio: Annotated[bool, typer.Option("--stdio", help="Read messages from stdin, write answers to stdout.")] = False,
    llm: Llm = None,
    limit_usd: LimitUsd = None,
    limit_tokens: LimitTokens = None,
    workers: Annotated[
        int | None, typer.Option(metavar="W", help="Worker processes to start; 0: none, start them yourself.")
    ] = None,
    data_dir: DataDir = None,
    verbose: Verbose = 0,
) -> int:
    """Serve a parent process in any language: one JSON message a line in, one answer a line out."""
    logs.configure(verbose)
    if not stdio:
        raise ConfigurationError("give --stdio: messages come from stdin, a line each; for HTTP run cogitate gateway")
    from cogitate.hosting.protocol.host_table import HostTable
    from cogitate.hosting.protocol.stdio import StdioHost

    settings = read_settings(
        workers=workers, llm=llm, limit_usd=limit_usd, limit_tokens=limit_tokens, data_dir=data_dir
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

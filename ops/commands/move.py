"""`cogitate move`: move a run without a host to another ledger."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from redis import Redis

from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import RunName, SharedOptions, open_state
from cogitate.scheduler.config.settings import ConfigurationError
from cogitate.scheduler.config.urls import check_redis_url, place_of, redact_url
from cogitate.scheduler.ledger.connect import check, check_keeps_runs, connect_to_read, ledger_of_run, ledgers_of
from cogitate.scheduler.ledger.moving import call_off, leaving, move_run
from cogitate.scheduler.ledger.run_store import missing_run, run_exists


def move(
    run: RunName,
    to: Annotated[str, typer.Option(metavar="URL", help="The other ledger; one of redis_urls needs no password here.")],
    options: SharedOptions,
) -> int:
    """Move a run without a host to another ledger. If the command is interrupted, the same command completes it.

    To cancel an interrupted move, give the ledger that the run is on; this is refused once the run may have arrived.
    """
    settings = options.settings()
    try:
        check_redis_url(to)
    except ValueError as error:
        raise ConfigurationError(f"--to: {error}") from None
    place = place_of(to)
    with open_state(settings) as client:
        ledgers = {name or place_of(settings.state_url()): one for name, one in ledgers_of(client).items()}
        here = next((name for name, one in ledgers.items() if leaving(one, run)), "")
        if not here:
            found = ledger_of_run(client, run)
            here = next(name for name, one in ledgers.items() if one is found)
        if here == place:
            _stay(ledgers[here], run)
            keys = 0
        elif place in ledgers:
            keys = move_run(ledgers[here], ledgers[place], run, place)
        else:
            with connect_to_read(to, settings.socket_timeout) as target:
                check(target, to)
                check_keeps_runs(target, redact_url(to))
                keys = move_run(ledgers[here], target, run, place)
    moved = f"({keys:,} keys)" if keys else "and stays there"
    Terminal(stderr=True).print(f"Run {run} is on {place} {moved}")
    if options.as_json:
        print(json.dumps({"run": run, "ledger": place, "keys": keys}), flush=True)
    return 0


def _stay(ledger: Redis, run: str) -> None:
    if not run_exists(ledger, run):
        raise missing_run(ledger, run)
    call_off(ledger, run)

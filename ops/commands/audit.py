"""`cogitate audit`: every invariant that can be seen in a run's ledger, streams and journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer
from redis import Redis

from hosting import logs
from hosting.terminal import Terminal
from hosting.tick_loop import TickLoop
from memory.errors import CogitateError
from ops.command_options import AsJson, DataDir, Verbose, read_settings
from ops.formatting.unreadable_entries import print_left_out
from ops.open_state import open_state
from scheduler.inspection.audit.audit import audit, audit_budget
from scheduler.journal.left_out import left_out_of
from scheduler.ledger.ledger import HostLedger
from scheduler.ledger.outage import Pause
from scheduler.tick.loop import Tick

EXAMPLE = "Example: cogitate audit town-1"


class AuditFailed(CogitateError, RuntimeError):
    """A run broke a promise; the message says which."""


def audit_run(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's name.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Check every invariant of a run, while it lives or afterwards: ends, budgets, streams, numbering, hashes.

    Exit code 1 when something is found; each finding is a line.
    """
    logs.configure(verbose)
    with open_state(read_settings(data_dir=data_dir)) as client:
        findings = audit(client, run)
        left_out = left_out_of(client, run)
    print_left_out(left_out)
    console = Terminal(stderr=as_json)
    for finding in findings:
        console.print(finding, highlight=False, soft_wrap=True)
    console.print(f"Run {run}: {len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}", highlight=False)
    if as_json:
        facts = {"run": run, "findings": findings, "left_out": [one._asdict() for one in left_out]}
        print(json.dumps(facts), flush=True)
    return 1 if findings else 0


def tick_auditor(loop: TickLoop) -> Callable[[Tick], None]:
    """What to call in each turn of the world: reads every budget window as the tick before has left it.

    Raises (when called):
        AuditFailed: when a window holds more than its limit.
        LedgerUnavailable: when the ledger is away for longer than the host waits for it. A host that goes on without
            the ledger reads again once it is back.
    """

    def read(ledger: HostLedger) -> list[str] | None:
        look = partial(audit_budget, ledger.client, ledger.prefix)
        return look() if ledger.outage is None else ledger.outage.read(look)

    def check(tick: Tick) -> None:
        if not loop.ledger.away:
            raise_findings(read(loop.ledger) or [], f"after tick {tick.number - 1}")

    return check


def audit_at_end(client: Redis, run: str, wait: float) -> None:
    """Check everything once a run is left.

    Args:
        wait: seconds that a server that is away is waited for.

    Raises:
        AuditFailed: naming the first finding.
        LedgerUnavailable: when the server was not back in time.
    """
    raise_findings(Pause(run, wait).read(lambda: audit(client, run)), "at the end")


def raise_findings(findings: list[str], when: str) -> None:
    """Raises AuditFailed when there are findings."""
    if findings:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        raise AuditFailed(f"the audit {when} found: {findings[0]}{more}")

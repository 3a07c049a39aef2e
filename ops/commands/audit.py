"""`cogitate audit`: check every invariant of a run's ledger, streams and journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from redis import Redis

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.errors import CogitateError
from cogitate.ops.command_options import AsJson, DataDir, RunName, Verbose, read_settings
from cogitate.ops.formatting.warnings import print_left_out
from cogitate.ops.open_state import open_state
from cogitate.scheduler.inspection.audit import audit, audit_budget
from cogitate.scheduler.journal.history import unreadable_entries_of
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.outage import Pause
from cogitate.scheduler.tick.tick_iterator import Tick

EXAMPLE = "Example: cogitate audit town-1"


class AuditFailed(CogitateError, RuntimeError):
    """A run breaks an invariant; the message names it."""


def audit_run(
    run: RunName,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Check every invariant of a run, during the run or later: ends of jobs, budgets, streams, numbers, hashes.

    Each finding is a line. The exit code is 1 if there are any.
    """
    logs.configure(verbose)
    with open_state(read_settings(data_dir=data_dir)) as client:
        findings = audit(client, run)
        left_out = unreadable_entries_of(client, run)
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
    """Return a function that checks every budget window after each turn of the world.

    Raises (when called):
        AuditFailed: when a window holds more than its limit. LedgerUnavailable: when Redis is unreachable for longer
        than the host waits. A host that continues without Redis checks again once it is back.
    """

    def read(ledger: HostLedger) -> list[str] | None:
        look = partial(audit_budget, ledger.store)
        return look() if ledger.outage is None else ledger.outage.read(look)

    def check(tick: Tick) -> None:
        if not loop.ledger.away:
            raise_findings(read(loop.ledger) or [], f"after tick {tick.number - 1}")

    return check


def audit_at_end(client: Redis, run: str, wait: float) -> None:
    """Check every invariant after the host has left the run.

    Args:
        wait: seconds to wait for a server that is unreachable.

    Raises:
        AuditFailed: naming the first finding.
        LedgerUnavailable: when the server stays unreachable for longer.
    """
    raise_findings(Pause(run, wait).read(lambda: audit(client, run)), "at the end")


def raise_findings(findings: list[str], when: str) -> None:
    if findings:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        raise AuditFailed(f"the audit {when} found: {findings[0]}{more}")

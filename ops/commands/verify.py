"""`cogitate audit` checks every invariant of a run; `cogitate replay` rebuilds it from its journal alone, and `cogitate
verify` does both from its capsule."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from redis import Redis

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.errors import CogitateError
from cogitate.ops.command_options import AsJson, RunName, SharedOptions, Verbose, open_state
from cogitate.ops.formatting.vitals import print_left_out
from cogitate.scheduler.inspection.audit import audit, audit_budget
from cogitate.scheduler.inspection.replay import replay
from cogitate.scheduler.journal.capsule.verifying import Verified, verify_capsule
from cogitate.scheduler.journal.exported import exported_journal
from cogitate.scheduler.journal.unreadable_entries import unreadable_entries_of
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.outage import Pause
from cogitate.scheduler.tick.tick_iterator import Tick
from cogitate.workers.processes.embedded import EmbeddedServer


class AuditFailed(CogitateError, RuntimeError):
    """A run breaks an invariant; the message names it."""


def audit_run(run: RunName, options: SharedOptions) -> int:
    """Check every invariant of a run, during the run or later: ends of jobs, budgets, streams, numbers, hashes.

    The command prints a line for each finding. The exit code is 1 if there are any.
    """
    with open_state(options.settings()) as client:
        findings = audit(client, run)
        left_out = unreadable_entries_of(client, run)
    print_left_out(left_out)
    console = Terminal(stderr=options.as_json)
    for finding in findings:
        console.print(finding)
    console.print(f"Run {run}: {len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}")
    if options.as_json:
        facts = {"run": run, "findings": findings, "left_out": [one._asdict() for one in left_out]}
        print(json.dumps(facts), flush=True)
    return 1 if findings else 0


def tick_auditor(loop: TickLoop) -> Callable[[Tick], None]:
    """Return a function that checks every budget window after each turn of the world.

    While a host continues without Redis, the function checks nothing; it checks again once Redis is back.

    Raises (when called):
        AuditFailed: when a window holds more than its limit.
        LedgerUnavailable: when Redis is unreachable for longer than the host waits.
    """

    def read(ledger: HostLedger) -> list[str] | None:
        audit_now = partial(audit_budget, ledger.store)
        return audit_now() if ledger.outage is None else ledger.outage.read(audit_now)

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


def replay_run(
    run: RunName,
    verify: Annotated[bool, typer.Option("--verify", help="Compare each stream with the run's own.")] = False,
    *,
    options: SharedOptions,
) -> int:
    """Rebuild every memory stream of a run from its journal, without a model, in an empty scratch database.

    Trimmed ticks come from the files in the data folder. If these are missing, the replay begins with the journal's
    first checkpoint and says so.

    The exit code is 1 when the journal or a stream was changed; the message names the tick.
    """
    settings = options.settings()
    with open_state(settings) as client, scratch() as empty:
        rebuilt = replay(client, run, empty, exported_journal(client, settings.data_dir, run))
        left_out = unreadable_entries_of(client, run)
    print_left_out(left_out)
    before = f" from the checkpoint of tick {rebuilt.first - 1:,} on" if rebuilt.first > 1 else ""
    Terminal(stderr=options.as_json).print(
        f"Run {run}: {rebuilt.ticks - rebuilt.first + 1:,} ticks replayed{before}; {rebuilt.entries:,} "
        f"entries of {rebuilt.owners:,} streams were rebuilt and agree. Digest {rebuilt.digest}, chain {rebuilt.chain}"
    )
    if options.as_json:
        facts = {"run": run, **rebuilt._asdict(), "left_out": [one._asdict() for one in left_out]}
        print(json.dumps(facts), flush=True)
    return 0


@contextmanager
def scratch() -> Iterator[Redis]:
    """Yield a client of an empty server that is removed after the block."""
    with (
        tempfile.TemporaryDirectory(prefix="cogitate-") as folder,
        EmbeddedServer(Path(folder)) as server,
        server.client() as client,
    ):
        yield client


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A capsule: `cogitate export RUN --format capsule --out FILE`.")
    ],
    as_json: AsJson = False,
    verbose: Verbose = 0,
) -> int:
    """Verify the run in a capsule without a server, a network or a key.

    The command checks every hash, replays the journal to the run's digest, and compares the resulting memories with
    those in the file. The exit code is 1 if the file was altered; the message says where.
    """
    logs.configure(verbose)
    found = verify_capsule(file)
    for line in verified_lines(found, file):
        Terminal(stderr=as_json).print(line)
    if as_json:
        print(json.dumps(found._asdict()), flush=True)
    return 0


def verified_lines(found: Verified, file: Path) -> list[str]:
    """Return lines of text about a verified capsule."""
    lines = [
        f"{file}: run {found.run}, {found.ticks:,} ticks replayed to digest {found.digest}; {found.entries:,} entries "
        f"of {found.owners:,} owners and {found.jobs:,} jobs agree",
        f"Chain {found.chain}, SHA-256 of the file {found.sha256}",
    ]
    if found.answers:
        lines.append(f"It has the prompts and answers of {found.answers:,} attempts")
    if found.other_prompts:
        lines.append(f"{found.other_prompts:,} versions of prompts that its jobs used are not among its templates")
    return lines

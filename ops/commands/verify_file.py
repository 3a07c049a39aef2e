"""`cogitate verify`: verify a run from its capsule alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cogitate.hosting import logs
from cogitate.hosting.terminal import Terminal
from cogitate.ops.command_options import AsJson, Verbose
from cogitate.scheduler.journal.capsule.verifying import Verified, verify_capsule


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

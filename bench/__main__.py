"""The command line of the measurements."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bench import concurrency, day, enqueue, memory, rate_limit
from bench.quality import SECTIONS, report
from ops import logs


def main() -> int:
    """Run the named measurement and print its tables."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    quality = commands.add_parser("quality", help="what runs without a model, on recorded data")
    quality.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("COGITATE_RECORDINGS"),
        help="folder with smallville/ and locomo/ (default: the environment variable COGITATE_RECORDINGS)",
    )
    quality.add_argument(
        "--section", action="append", choices=tuple(SECTIONS), help="only this section (may be repeated)"
    )
    commands.add_parser("enqueue", help="what publishing a tick's hints costs, beside Celery's own ways")
    commands.add_parser("concurrency", help="calls that one worker process drives, beside plain Celery tasks")
    commands.add_parser("memory", help="what memory operations cost on a full stream")
    limit = commands.add_parser("rate-limit", help="whether workers keep a limit against a server that enforces it")
    limit.add_argument("--per-minute", type=int, default=60)
    limit.add_argument("--seconds", type=float, default=300.0)
    limit.add_argument("--burst", type=int, default=1, help="requests that the server lets come ahead of the pace")
    shown = commands.add_parser("day", help="a day of one agent by heuristics and by the model of the settings")
    shown.add_argument("--agent", default="agent:amara-okafor", help="an owner of the built-in town")
    arguments = parser.parse_args()
    logs.quiet()
    if arguments.command == "enqueue":
        enqueue.main()
        return 0
    if arguments.command == "concurrency":
        print(concurrency.measure())
        return 0
    if arguments.command == "memory":
        print(memory.table())
        return 0
    if arguments.command == "rate-limit":
        return rate_limit.report(arguments.per_minute, arguments.seconds, arguments.burst)
    if arguments.command == "day":
        print(day.markdown(arguments.agent))
        return 0
    if arguments.data is None:
        parser.error("no recordings: give --data or set COGITATE_RECORDINGS")
    try:
        for table in report(arguments.data, arguments.section or SECTIONS):
            print(table, end="\n\n", flush=True)
    except FileNotFoundError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())

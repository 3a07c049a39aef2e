"""The command line of the measurements. A measurement's options are the parameters of its function."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from bench.table import print_tables
from cogitate.hosting import logs

RECORDINGS = "COGITATE_RECORDINGS"  # names the folder of recordings, smallville/ and locomo/ among them


class Measurement(NamedTuple):
    """A measurement. Its function returns a table, tables or a text to print, or an exit code."""

    function: str  # "module:name" in this package, imported when it runs
    about: str


MEASUREMENTS = {
    "quality": Measurement("quality.quality:report", "quality of everything that needs no model, on recorded data"),
    "enqueue": Measurement("enqueue:table", "cost of publishing a tick's hints, compared with Celery's methods"),
    "concurrency": Measurement(
        "worker.concurrency:measure", "calls that one worker process sustains, compared with plain Celery tasks"
    ),
    "trouble": Measurement("worker.trouble:table", "jobs that a model answers at an endpoint in trouble"),
    "pack": Measurement("worker.packed_day:table", "a day with packed calls, compared with single ones"),
    "flex": Measurement("worker.flex_day:table", "money of a day with flex and packed calls, and slow or busy flex"),
    "money": Measurement(
        "worker.money_day:table", "money of a day with packs, prompt cache, flex and batch files in turn"
    ),
    "fork": Measurement("forks:tables", "time of an unchanged fork, and calls after one changed observation"),
    "start": Measurement("worker.start:table", "seconds from the start of a host to the first result of a model"),
    "fleet": Measurement(
        "fleet:tables", "many runs at shared workers: shares served, a small run's waits, a shared limit"
    ),
    "cluster": Measurement("cluster:table", "a tick on a cluster, compared with one on a single server"),
    "scale": Measurement("scale.fleet:tables", "fleets up to 1,000 machines, by a model with costs measured here"),
    "idle": Measurement("scale.idle:table", "an idle tick of runs with many agents, compared with one of 100"),
    "advance": Measurement("advance:table", "one step of the ledger, compared with a bare pipeline of its writes"),
    "memory": Measurement("retrieval:tables", "cost of memory operations, and retrieval compared with other systems"),
    "workers": Measurement("worker.workers:table", "a worker's overhead per job, compared with other systems"),
    "host": Measurement("crowd:ticks", "cost of a tick to its host, by number of agents"),
    "boundary": Measurement(
        "crowd:boundaries", "ticks of a spread morning and their stalls, and many agents due in one tick"
    ),
    "footprint": Measurement("crowd.footprint:table", "bytes per entry in the host and in Redis"),
    "hostile": Measurement("crowd.hostile:table", "cost of text crafted to stall a host, by policy"),
    "rate-limit": Measurement(
        "worker.rate_limit:report", "whether workers keep within a rate limit that a server enforces"
    ),
    "throttle": Measurement("throttle:report", "quality lost by throttling reflection, on a recorded day"),
    "curve": Measurement("curve:report", "quality against calls, as requests come and by value, on recorded days"),
    "day": Measurement("quality.day:markdown", "a day of one agent, by heuristics and by the configured model"),
    "soak": Measurement("soak:report", "a town under faults for days: audited, replayed, memory use checked"),
    "alarms": Measurement("alarms:report", "false alarms of Flower's first page on a healthy day"),
    "pages": Measurement("pages:table", "first paint of every page, with many agents and memories"),
    "digests": Measurement("digests:report", "whether the demo has the same digest on this and other Pythons"),
    "paced": Measurement("pace.paced:measure", "share of results in time on a real clock, for several model latencies"),
    "barrier": Measurement(
        "pace.barrier:tables", "cost of waiting for models at every step, compared with not waiting"
    ),
    "gateway": Measurement("gateway:table", "cost of a tick over HTTP and over a pipe, compared with the plain loop"),
    "readability": Measurement(
        "readability.readability:tables", "mechanical checks of every sentence that heuristics write"
    ),
    "window": Measurement(
        "quality.window_stories:tables", "what the token window keeps of twelve stories: names, objectives and more"
    ),
    "hybrid": Measurement("carry.hybrid:tables", "search by words and vectors, by ways to combine them"),
    "carry": Measurement("carry.carry:tables", "effect of each part of the default profile, on separate domains"),
    "week": Measurement(
        "readability.readability:markdown", "reflections and summaries of a week in the town, sampled with a fixed seed"
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Run the named measurement, print what it found, and return an exit code."""
    listed = "\n".join(f"  {name:<12} {one.about}" for name, one in MEASUREMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench", epilog=listed, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measurement", choices=MEASUREMENTS, metavar="NAME")
    name = parser.parse_args(arguments[:1]).measurement
    module, _, called = MEASUREMENTS[name].function.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"bench.{module}"), called)
    parser = argparse.ArgumentParser(prog=f"python -m bench {name}", description=MEASUREMENTS[name].about)
    for parameter in signature(function, eval_str=True).parameters.values():
        add_option(parser, parameter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    given = vars(parser.parse_args(arguments[1:]))
    json = given.pop("json")
    logs.quiet()
    try:
        found = function(**given)
        if isinstance(found, int):
            return found
        print_tables(found if isinstance(found, Iterable) and not isinstance(found, str) else [found], json)
    except FileNotFoundError as error:
        parser.error(str(error))
    return 0


def add_option(parser: argparse.ArgumentParser, parameter: Parameter) -> None:
    """Add the option for a parameter; one without a default is a positional argument.

    `data` is the folder of recordings, by default that of the environment.
    """
    kind, about = parameter.annotation, None
    if get_origin(kind) is Annotated:
        kind, about = get_args(kind)
    properties: dict[str, Any] = {"help": about}
    if kind is bool:
        properties["action"] = "store_true"
    elif get_origin(kind) is Sequence:
        properties |= {"type": get_args(kind)[0], "nargs": "*"}
    else:
        properties["type"] = next(iter(get_args(kind)), kind)  # of `int | None`: int
    flag = f"--{parameter.name.replace('_', '-')}"
    if parameter.name == "data":
        properties |= {"default": os.environ.get(RECORDINGS), "metavar": RECORDINGS, "help": "the folder of recordings"}
        properties["required"] = parameter.default is Parameter.empty and properties["default"] is None
    elif parameter.default is Parameter.empty:
        flag = parameter.name
    else:
        properties["default"] = parameter.default
    parser.add_argument(flag, **properties)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

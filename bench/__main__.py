"""The command line of the measurements."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from itertools import chain
from pathlib import Path

from bench.quality.quality import SECTIONS, report
from bench.table import Table, print_tables
from cogitate.hosting import logs

WITH_JSON = (
    "memory",
    "workers",
    "host",
    "boundary",
    "barrier",
    "concurrency",
    "enqueue",
    "footprint",
    "start",
    "advance",
    "cluster",
    "fleet",
    "scale",
    "idle",
)

#: Measurements without options: their modules, each with a `table()`.
PLAIN = {
    "enqueue": "bench.enqueue",
    "concurrency": "bench.worker.concurrency",
    "workers": "bench.worker.workers",
    "start": "bench.worker.start",
    "advance": "bench.advance",
    "footprint": "bench.crowd.footprint",
    "cluster": "bench.cluster",
}


def main() -> int:
    """Run the named measurement and print its tables. A measurement's own imports are loaded only when it runs."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    quality = commands.add_parser("quality", help="quality of everything that needs no model, on recorded data")
    quality.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("COGITATE_RECORDINGS"),
        help="folder with smallville/ and locomo/ (default: the environment variable COGITATE_RECORDINGS)",
    )
    quality.add_argument(
        "--section", action="append", choices=tuple(SECTIONS), help="only this section (may be repeated)"
    )
    commands.add_parser("enqueue", help="cost of publishing a tick's hints, compared with Celery's methods")
    calls = commands.add_parser(
        "concurrency", help="calls that one worker process sustains, compared with plain Celery tasks"
    )
    calls.add_argument("--bare", type=int, metavar="ROUNDS", help="only against the bare client, in so many rounds")
    troubled = commands.add_parser("trouble", help="jobs that a model answers at an endpoint in trouble")
    troubled.add_argument("--only", default="", metavar="TEXT", help="only scenarios whose label contains this")
    packs = commands.add_parser("pack", help="a day with packed calls, compared with single ones")
    packs.add_argument("--agents", type=int, default=25, help="agents of the built-in town")
    packs.add_argument("--ticks", type=int, default=1_440, help="game minutes")
    flex = commands.add_parser("flex", help="money of a day with flex and packed calls, and slow or busy flex")
    flex.add_argument("--agents", type=int, default=25, help="agents of the built-in town")
    flex.add_argument("--ticks", type=int, default=1_440, help="game minutes")
    money = commands.add_parser("money", help="money of a day with packs, prompt cache, flex and batch files in turn")
    money.add_argument("--agents", type=int, default=25, help="agents of the built-in town")
    money.add_argument("--ticks", type=int, default=1_440, help="game minutes")
    forked = commands.add_parser("fork", help="time of an unchanged fork, and calls after one changed observation")
    forked.add_argument("--agents", type=int, default=25, help="agents of the built-in town")
    forked.add_argument("--days", type=int, default=2, help="game days of the unchanged fork; 0: only changed ones")
    forked.add_argument("--rate", type=float, default=40.0, help="ticks a second of the paced run")
    forked.add_argument("--latency", type=float, default=0.1, help="seconds per call")
    commands.add_parser("start", help="seconds from the start of a host to the first result of a model")
    commands.add_parser("fleet", help="many runs at shared workers: shares served, a small run's waits, a shared limit")
    commands.add_parser("cluster", help="a tick on a cluster, compared with one on a single server")
    fleets = commands.add_parser("scale", help="fleets up to 1,000 machines, by a model with costs measured here")
    fleets.add_argument("--rounds", type=int, default=3, help="rounds in which costs are measured")
    crowds = commands.add_parser("idle", help="an idle tick of runs with many agents, compared with one of 100")
    crowds.add_argument("--runs", type=int, default=10)
    crowds.add_argument("--agents", type=int, default=100_000, help="of each run")
    commands.add_parser("advance", help="one step of the ledger, compared with a bare pipeline of its writes")
    stored = commands.add_parser("memory", help="cost of memory operations, and retrieval compared with other systems")
    stored.add_argument("--entries", type=int, nargs="+", default=(200, 10_000), help="number of entries to search")
    commands.add_parser("workers", help="a worker's overhead per job, compared with other systems")
    ticks = commands.add_parser("host", help="cost of a tick to its host, by number of agents")
    ticks.add_argument("--agents", type=int, nargs="*", default=(100, 1_000, 10_000))
    ticks.add_argument(
        "--morning", type=int, nargs="*", default=(1_000,), help="agents whose morning is measured by the clock"
    )
    ticks.add_argument("--memories", type=int, nargs="*", default=(36, 200), help="memories that a heuristic reads")
    ticks.add_argument(
        "--one-tick", type=int, nargs="*", default=(10_000,), help="agents due in one tick, with memories and workers"
    )
    bounds = commands.add_parser(
        "boundary", help="ticks of a spread morning and their stalls, and many agents due in one tick"
    )
    bounds.add_argument("--agents", type=int, nargs="*", default=(1_000, 10_000))
    bounds.add_argument(
        "--due", type=int, nargs="*", default=(1_000,), help="agents due in one tick, compared with other queues"
    )
    commands.add_parser("footprint", help="bytes per entry in the host and in Redis")
    stalling = commands.add_parser("hostile", help="cost of text crafted to stall a host, by policy")
    stalling.add_argument("--length", type=int, default=4_000, help="characters per text, at most 4,000")
    limit = commands.add_parser("rate-limit", help="whether workers keep within a rate limit that a server enforces")
    limit.add_argument("--per-minute", type=int, default=60)
    limit.add_argument("--seconds", type=float, default=300.0)
    limit.add_argument("--burst", type=int, default=1, help="requests that the server accepts ahead of the even pace")
    price = commands.add_parser("throttle", help="quality lost by throttling reflection, on a recorded day")
    price.add_argument("--data", type=Path, default=os.environ.get("COGITATE_RECORDINGS"), help="as for quality")
    price.add_argument("--plot", type=Path, metavar="FILE", help="write an SVG here")
    curve = commands.add_parser("curve", help="quality against calls, as requests come and by value, on recorded days")
    curve.add_argument("--data", type=Path, default=os.environ.get("COGITATE_RECORDINGS"), help="as for quality")
    curve.add_argument("--plot", type=Path, metavar="FILE", help="write an SVG here")
    shown = commands.add_parser("day", help="a day of one agent, by heuristics and by the configured model")
    shown.add_argument("--agent", default="agent:amara-okafor", help="an owner of the built-in town")
    soaked = commands.add_parser("soak", help="a town under faults for days: audited, replayed, memory use checked")
    soaked.add_argument("--agents", type=int, default=200)
    soaked.add_argument("--story", action="store_true", help="the story instead of a town")
    soaked.add_argument("--days", type=int, default=7)
    soaked.add_argument("--seed", type=int, default=0)
    soaked.add_argument("--every", type=float, default=4.0, help="mean seconds between two faults")
    soaked.add_argument("--model", action="store_true", help="ask a stand-in model, which fails too")
    soaked.add_argument("--data-dir", type=Path, help="folder in which to keep the run")
    well = commands.add_parser("alarms", help="false alarms of Flower's first page on a healthy day")
    well.add_argument("--agents", type=int, default=25)
    well.add_argument("--rate", type=float, default=10.0, help="ticks a second")
    well.add_argument("--latency", type=float, default=0.3, help="seconds of the median call")
    well.add_argument("--workers", type=int, default=2)
    well.add_argument("--days", type=int, default=1)
    well.add_argument("--data-dir", type=Path, help="folder in which to keep the run")
    seen = commands.add_parser("pages", help="first paint of every page, with many agents and memories")
    seen.add_argument("--agents", type=int, default=1_000)
    seen.add_argument("--days", type=int, default=1, help="game days before the pages are opened")
    seen.add_argument("--loads", type=int, default=6, help="how often each page is opened")
    seen.add_argument("--data-dir", type=Path, help="folder in which to keep the runs, or that has them from before")
    other = commands.add_parser("digests", help="whether the demo has the same digest on this and other Pythons")
    other.add_argument("pythons", nargs="*", metavar="PYTHON", help="a command that starts another Python")
    paced = commands.add_parser("paced", help="share of results in time on a real clock, for several model latencies")
    paced.add_argument("--rates", type=float, nargs="+", default=(1.0, 5.0, 20.0), help="ticks a second")
    paced.add_argument("--latencies", type=float, nargs="+", default=(0.2, 1.0, 5.0), help="seconds, medians")
    paced.add_argument("--seconds", type=float, default=360.0, help="most seconds of one run")
    paced.add_argument("--before", action="store_true", help="repeat each run with fixed due ticks")
    barrier = commands.add_parser("barrier", help="cost of waiting for models at every step, compared with not waiting")
    barrier.add_argument("--agents", type=int, nargs="+", default=(25, 100, 300), help="agents of the built-in town")
    barrier.add_argument("--latency", type=float, default=1.0, help="seconds per call")
    barrier.add_argument("--rate", type=float, default=20.0, help="ticks per second of Cogitate's run")
    barrier.add_argument("--ticks", type=int, default=1140, help="game minutes, from 5 AM")
    barrier.add_argument("--recorded", action="store_true", help="recorded days with their own calls instead")
    barrier.add_argument("--times", type=float, default=4.2, help="speed relative to the barrier, with --recorded")
    barrier.add_argument("--data", type=Path, default=os.environ.get("COGITATE_RECORDINGS"), help="as for quality")
    ways = commands.add_parser("gateway", help="cost of a tick over HTTP and over a pipe, compared with the plain loop")
    ways.add_argument("--agents", type=int, default=25)
    ways.add_argument("--ticks", type=int, default=1_000)
    read = commands.add_parser("readability", help="mechanical checks of every sentence that heuristics write")
    read.add_argument("--agents", type=int, default=25, help="agents of the built-in town")
    read.add_argument("--days", type=int, default=7)
    read.add_argument("--examples", action="store_true", help="print the sentences that fail")
    commands.add_parser(
        "window", help="what the token window keeps of twelve stories: names, objectives, relations, inventory"
    )
    combined = commands.add_parser("hybrid", help="search by words and vectors, by ways to combine them")
    combined.add_argument("--data", type=Path, default=os.environ.get("COGITATE_RECORDINGS"), help="as for quality")
    carried = commands.add_parser("carry", help="effect of each part of the default profile, on separate domains")
    carried.add_argument("--data", type=Path, default=os.environ.get("COGITATE_RECORDINGS"), help="as for quality")
    commands.add_parser("week", help="reflections and summaries of a week in the town, sampled with a fixed seed")
    for name in WITH_JSON:
        commands.choices[name].add_argument("--json", type=Path, metavar="FILE", help="also write figures here")
    arguments = parser.parse_args()
    logs.quiet()
    json = getattr(arguments, "json", None)
    match arguments.command:
        case "concurrency" if arguments.bare:
            from bench.worker import concurrency

            print_tables([concurrency.against_bare(arguments.bare)], json)
        case name if name in PLAIN:
            print_tables([import_module(PLAIN[name]).table()], json)
        case "trouble":
            from bench.worker import trouble

            print(trouble.table(arguments.only))
        case "pack":
            from bench.worker import packed_day

            print(packed_day.table(arguments.agents, arguments.ticks))
        case "flex":
            from bench.worker import flex_day

            print(flex_day.table(arguments.agents, arguments.ticks))
        case "money":
            from bench.worker import money_day

            print(money_day.table(arguments.agents, arguments.ticks))
        case "fork":
            from bench import forks

            print_tables(forks.tables(arguments.agents, arguments.days, arguments.rate, arguments.latency), json)
        case "memory":
            from bench import retrieval
            from bench.quality import memory

            print_tables((memory.table(), *retrieval.tables(arguments.entries)), json)
        case "fleet":
            from bench.fleet import shared_limit, shares, small_run

            print_tables((table() for table in (shares.table, small_run.table, shared_limit.table)), json)
        case "scale":
            from bench.scale import fleet

            print_tables(fleet.tables(arguments.rounds), json)
        case "idle":
            from bench.scale import idle

            print_tables([idle.table(arguments.runs, arguments.agents)], json)
        case "host":
            from bench.crowd import heuristic_cost, host, morning, one_tick

            by_number = (
                (host.table, arguments.agents),
                (morning.table, arguments.morning),
                (heuristic_cost.table, arguments.memories),
                (one_tick.table, arguments.one_tick),
            )
            print_tables((table(numbers) for table, numbers in by_number if numbers), json)
        case "boundary":
            from bench.crowd import boundary, due_at_once

            print_tables(chain([boundary.table(arguments.agents)], map(due_at_once.table, arguments.due)), json)
        case "hostile":
            from bench.crowd import hostile

            print(hostile.table(arguments.length))
        case "rate-limit":
            from bench.worker import rate_limit

            return rate_limit.report(arguments.per_minute, arguments.seconds, arguments.burst)
        case "barrier":
            from bench.pace import barrier as barriers

            if arguments.recorded and arguments.data is None:
                parser.error("--recorded needs --data or COGITATE_RECORDINGS")
            if arguments.recorded:
                measured = barriers.measure_recorded(arguments.data, arguments.latency, arguments.times)
            else:
                measured = barriers.measure(arguments.agents, arguments.latency, arguments.rate, arguments.ticks)
            print_tables(measured, json)
        case "gateway":
            from bench import gateway

            print(gateway.table(arguments.agents, arguments.ticks))
        case "paced":
            from bench.pace import paced as paced_towns

            print(paced_towns.measure(arguments.rates, arguments.latencies, arguments.seconds, arguments.before))
        case "soak":
            from bench import soak

            given = vars(arguments)
            given.pop("command")
            wrong = soak.soak(given.pop("agents"), given.pop("days"), given.pop("seed"), **given)
            print("\n".join(wrong) or "no faults found")
            return 1 if wrong else 0
        case "readability":
            from bench.readability import readability

            for table in readability.tables(arguments.agents, arguments.days, examples=arguments.examples):
                print(table, end="\n\n", flush=True)
        case "alarms":
            from bench import alarms

            given = vars(arguments)
            given.pop("command")
            return 1 if alarms.watch(**given) else 0
        case "pages":
            from bench import pages

            print_tables([pages.table(arguments.agents, arguments.days, arguments.loads, arguments.data_dir)], json)
        case "window":
            from bench.quality import window_stories

            stories = window_stories.read_stories()
            print_tables((window_stories.table(half, stories) for half in window_stories.HALVES), json)
        case "hybrid":
            from bench.carry import hybrid

            print_tables(hybrid.tables(arguments.data), json)
        case "carry":
            from bench.carry import carry

            print_tables(carry.tables(arguments.data), json)
        case "week":
            from bench.readability import readability

            print(readability.markdown())
        case "digests":
            from bench import digests

            return digests.report(arguments.pythons)
        case "day":
            from bench.quality import day

            print(day.markdown(arguments.agent))
        case _:
            _recorded(parser, arguments)
    return 0


def _recorded(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Measure what only recordings show."""
    if arguments.data is None:
        parser.error("no recordings: give --data or set COGITATE_RECORDINGS")
    try:
        if arguments.command == "quality":
            print_tables(report(arguments.data, arguments.section or SECTIONS), None)
            return
        if arguments.command == "curve":
            from bench import curve

            curves: list[Table] = []
            for one in curve.tables(arguments.data):
                print(one, flush=True, end="\n\n")
                curves.append(one)
            if arguments.plot is not None:
                arguments.plot.write_text(curve.plot(curves))
            return
        from bench import throttle

        table, days = throttle.table(arguments.data)
        print(table)
        if arguments.plot is not None:
            arguments.plot.write_text(throttle.plot(days))
    except FileNotFoundError as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())

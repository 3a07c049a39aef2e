"""Measure whether a limit in money that all runs share holds when a million calls race for it.

Processes ask for admission with the script that workers use, on a real server, many calls in one round trip. An
admitted call costs between nothing and its reservation and returns the rest, so the limit is nearly reached for most of
the time and calls race for the returned rest. One in a thousand never ends, as if its worker was killed. Each process
counts the cost of its own calls; the benchmark compares these counts with the limit, not the server's. Meanwhile the
parent process reads the server's figures continually.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import deque
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pydantic import SecretStr
from redis import Redis

from bench.table import Row, Table
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.keys import new_nonce, real_day_key, script
from cogitate.scheduler.ledger.real_day import RealDay, utc_date
from cogitate.workers.processes.embedded import EmbeddedServer

CALLS, PROCESSES, TOGETHER = 1_000_000, 8, 100
MOST = 20_000  # micro-dollars that a call may cost
FOR_ALL = 0.2  # the limit, as a share of what all calls together would reserve
LOST = 0.001  # calls that never end


class Counted(NamedTuple):
    """The counts of one process. Amounts are micro-dollars."""

    admitted: int = 0
    refused: int = 0
    spent: int = 0
    held: int = 0  # by calls that never end


def table(calls: int = CALLS) -> Table:
    """Return how many calls were admitted, and how much of the limit they spent."""
    limit = round(calls * MOST / 2 * FOR_ALL)
    date = utc_date()
    with TemporaryDirectory() as folder, EmbeddedServer(Path(folder)) as server, server.client(0) as client:
        client.config_set("appendfsync", "everysec")
        context = multiprocessing.get_context("spawn")
        began, pipes, asking = time.monotonic(), [], []
        for number in range(PROCESSES):
            ours, theirs = context.Pipe(duplex=False)
            args = (theirs, server.url, date, limit, calls // PROCESSES, number)
            asking.append(context.Process(target=_ask, args=args))
            pipes.append(ours)
            asking[-1].start()
        highest = looks = 0
        while any(process.is_alive() for process in asking):
            highest, looks = max(highest, _held(client, date)), looks + 1
        seconds = time.monotonic() - began
        counted = Counted(*(sum(each) for each in zip(*(pipe.recv() for pipe in pipes), strict=True)))
        settings = Settings(data_dir=Path(folder), redis_url=SecretStr(server.url), real_day_usd=limit / 1e6)
        shown = RealDay(client, settings, today=lambda: date).spending()
    taken = counted.spent + counted.held
    if (shown.spent.usd_micros, shown.reserved.usd_micros) != (counted.spent, counted.held):
        raise RuntimeError(f"the server counts {shown}, the processes {counted}")
    cells = (
        counted.admitted + counted.refused,
        counted.admitted,
        counted.refused,
        100 * taken / limit,
        100 * highest / limit,
        max(0, taken - limit, highest - limit),
        looks,
        seconds,
    )
    columns = ("calls", "admitted", "refused", "taken, %", "highest, %", "over, micro-dollars", "looks", "seconds")
    note = f"{PROCESSES} processes, {TOGETHER} calls in a round trip, a limit of ${limit / 1e6:,.0f}."
    return Table("Calls racing for one limit", columns, (Row("one limit of all runs", cells),), note, decimals=2)


def _held(client: Redis, date: str) -> int:
    found = client.hmget(real_day_key(date), "reserved:usd_micros", "spent:usd_micros")
    return sum(int(amount or 0) for amount in found)


def _ask(answer: Connection, url: str, date: str, limit: int, calls: int, seed: int) -> None:
    """Ask for this many calls, and send the counts."""
    chance, key = random.Random(seed), real_day_key(date)
    admitted = refused = spent = held = 0
    running: deque[tuple[str, int]] = deque()
    with Redis.from_url(url) as client:
        step = script(client, "real_day")
        client.script_load(step.script)
        while calls or running:
            asked = [(new_nonce(), chance.randint(1, MOST)) for _ in range(min(TOGETHER, calls))]
            ended = [running.popleft() for _ in range(min(len(running), TOGETHER))]
            with client.pipeline(transaction=False) as pipe:
                for token, most in asked:
                    pipe.evalsha(step.sha, 1, key, "reserve", token, 0, most, "", limit, 86_400)
                for token, cost in ended:
                    pipe.evalsha(step.sha, 1, key, "settle", token, 0, cost)
                replies = pipe.execute()
            calls -= len(asked)
            spent += sum(cost for _, cost in ended)
            for (token, most), reply in zip(asked, replies, strict=False):
                if reply != b"reserved":
                    refused += 1
                    continue
                admitted += 1
                if chance.random() < LOST:
                    held += most
                else:
                    running.append((token, chance.randint(0, most)))
    answer.send(Counted(admitted, refused, spent, held))

"""Measure the cost of text crafted to stall a host, compared with ordinary text of the same length.

Four agents hear or see a text of full length at every tick. Three of four texts are English small talk. The fourth is
dense ordinary Chinese in one run; in the other it is, in turn, each shape that keeps a pattern, a split or a comparison
busy. A tick's time is that of the host's thread, including its inline jobs. It is the smaller of two identical runs, so
that other load on the machine hardly counts.

When a policy summarises memories of 4,000 characters, a tick takes many times longer than when nothing is due, whatever
the texts. The cost of hostile text shows only in comparison with the ordinary run.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import get_args

from bench.table import Row, Table
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.entry import MAX_TEXT, Entry
from cogitate.memory.limits import Policy
from cogitate.memory.profile import Profile
from cogitate.scheduler.config.settings import Settings
from cogitate.simulation.town.phrases import PHRASES
from cogitate.workers.processes.embedded import EmbeddedServer

OWNERS = {f"agent:{name.lower()}": Profile(name=f"{name} Smith") for name in ("Ann", "Ben", "Cid", "Dora")}
START = 480  # game time of the first tick: plans are due, and talks are in progress
ROUNDS = 4  # occurrences of each shape
EVERY = 4  # ticks
RUNS = 2

Made = Callable[[int], str]


def _filled(unit: str, tail: str = "") -> Made:
    def made(length: int) -> str:
        return (unit * (length // len(unit) + 1))[: length - len(tail)] + tail

    return made


SHAPES: dict[str, Made] = {
    "apostrophes": _filled("'", "x"),
    "quotes": _filled("”'\"»", "x"),
    "spaces": _filled(" ", "%"),
    "dots and commas": _filled(".,", "x"),
    "nested brackets": lambda length: "(" * (length // 2) + ")" * (length // 2),
    "one endless word": _filled("a"),
    "letters and dots": _filled("a.", "%"),
    "marks out of order": lambda length: "a" + "\u0301" * (length // 2 - 1) + "\u0316" * (length // 2),
    "line ends and tabs": _filled("\n\t", "%"),
    "sentences of a letter": _filled("a.\n"),
    "dashes": _filled(" -", "%"),
    "you": _filled("you "),
    "contractions": _filled("I'd "),
    "conjunctions": _filled(" so I a"),
    "days": _filled("today "),
    "Han": _filled("。中"),
    "distinct words": lambda length: " ".join(f"w{n:x}" for n in range(length // 4))[:length],
}
_SAID = [
    said
    for pair in (*PHRASES.small_talk, *PHRASES.of_sleep, *PHRASES.between_neighbours, *PHRASES.first_meeting)
    for said in pair
]
_SAID_IN_CHINESE = (
    "今天集市上人很多。",
    "她把那本旧书借给了邻居。",
    "昨天晚上下了一场大雨。",
    "你还记得我们在港口见过面吗?",
    "面包师说明天会有新的苹果蛋糕。",
    "老师请孩子们把故事写下来。",
    "我哥哥在工厂里找到了工作。",
    "星期六广场上有音乐会。",
    "他答应帮我修理花园的门。",
    "图书馆的灯一直亮到半夜。",
    "医生说她很快就会好。",
)


def ordinary(number: int, length: int, said: Sequence[str] = _SAID) -> str:
    """Return a saying of this many characters, different for every number."""
    parts = [f"{number}."]
    while sum(map(len, parts)) + len(parts) < length:
        parts.append(said[(number * 7 + len(parts) * 3 + len(parts) // 11) % len(said)])
    return " ".join(parts)[:length]


def _texts(length: int, shapes: Sequence[Made]) -> list[str]:
    """Return the texts of a run by tick; without shapes, all are ordinary."""
    count = ROUNDS * EVERY * len(SHAPES)
    texts = [ordinary(number, length) for number in range(count)]
    for turn, at in enumerate(range(EVERY - 1, count, EVERY)):
        hostile = f"{turn} {shapes[turn % len(shapes)](length)}"[:length] if shapes else ""
        texts[at] = hostile or ordinary(turn, length, _SAID_IN_CHINESE)
    return texts


def _lived(policy: Policy, texts: Sequence[str]) -> list[float]:
    """Return the milliseconds of each tick."""
    owners = list(OWNERS)
    taken: list[float] = []
    with TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), llm="heuristic", policy=policy)
        with (
            EmbeddedServer(Path(folder)) as server,
            server.client() as client,
            TickLoop(
                run="hostile",
                owners=OWNERS,
                settings=settings,
                ticks=len(texts),
                start_minute=START,
                inline=True,
                client=client,
            ) as loop,
        ):
            start = time.thread_time()
            for tick, text in zip(loop, texts, strict=True):
                for at, owner in enumerate(owners):
                    speaker = owners[at ^ 1]
                    if tick.number % 2:
                        loop.observe(owner, Entry(type="observation", text=text, minute=tick.minute))
                    else:
                        loop.observe(
                            owner,
                            Entry(
                                type="message",
                                text=text,
                                minute=tick.minute,
                                subjects=(speaker, owner),
                                source="dialogue",
                            ),
                        )
                now = time.thread_time()
                taken.append((now - start) * 1000)
                start = now
    return taken[1:]


def _least(policy: Policy, texts: Sequence[str]) -> list[float]:
    gc.collect()
    gc.disable()  # a full collection takes as long as ten ticks, regardless of the texts
    try:
        return [min(times) for times in zip(*(_lived(policy, texts) for _ in range(RUNS)), strict=True)]
    finally:
        gc.enable()


def table(length: int = MAX_TEXT) -> Table:
    """Measure the slowest tick of each policy, with hostile text and without."""
    rows: list[Row] = []
    for policy in get_args(Policy):
        usual = _least(policy, _texts(length, ()))
        hostile = _least(policy, _texts(length, list(SHAPES.values())))
        middle, slowest = median(usual), max(usual)
        rows.append(Row(policy, (middle, slowest, max(hostile), max(hostile) / middle, max(hostile) / slowest)))
    note = f"{length:,} characters a memory, {len(OWNERS)} agents; milliseconds of the host's thread."
    columns = ("median tick", "slowest", "slowest, hostile text", "of the median", "of the slowest")
    return Table("Hostile text", columns, tuple(rows), note, decimals=1)

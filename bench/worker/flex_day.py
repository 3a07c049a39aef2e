"""`python -m bench flex`: the savings of the flex tier in a day of a town, alone and with packed calls.

Real workers, real HTTP, the stand-in model, full speed: the host waits for results, at most 60 seconds. Tokens are the
stand-in's, 1.3 for each word of the messages; money is the ledger's charge, at the prices of a listed model.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from bench.table import Row, Table
from bench.worker.lived_day import RUN, lived_day
from cogitate.memory.clock import DAY
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import Endpoint, ModelSettings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.summary import summarise_run, usage_by_owner
from cogitate.simulation.town.town import Town

COLUMNS = ("requests", "tokens", "dollars", "jobs by the model", "of these in flex")
MODEL = "gpt-5-mini"  # its prices are in the table
LATENCY = 0.1  # seconds of an answer
WAIT_FOR_BATCHES = 14_400.0  # seconds


class Lived(NamedTuple):
    """The figures of a day."""

    requests: int
    tokens: int
    dollars: float
    by_model: int
    by_flex: int


def live(
    agents: int,
    ticks: int,
    *,
    tier: Literal["auto", "standard"],
    pack: Literal["auto", "off"] = "off",
    batch: Literal["auto", "off"] = "off",
    flex_latency: float = 0.0,
    faults: dict[str, float] | None = None,
) -> Lived:
    """Live a day, and count.

    Args:
        batch: with "auto" the host waits as long as batch files may take.

    Raises:
        RuntimeError: if the auditor finds anything.
    """
    with (
        TemporaryDirectory(prefix="cogitate-") as folder,
        FakeEndpoint(latency=LATENCY, flex_latency=flex_latency, faults=faults or {}) as endpoint,
    ):
        chosen = Settings(
            data_dir=Path(folder),
            llm="openai",
            limit_usd=1_000.0,
            limits={},
            workers=1,
            concurrency=32,
            endpoints={"default": Endpoint(base_url=endpoint.url, api_key="any")},
            models={"default": ModelSettings(model=MODEL, service_tier=tier, pack=pack, batch=batch)},
        )
        if batch == "auto":
            chosen = chosen.changed(wait=WAIT_FOR_BATCHES)
        with lived_day(Town(agents=agents), chosen, ticks) as loop:
            client = loop.ledger.client
            summary, spent = summarise_run(client, RUN), usage_by_owner(client, RUN).values()
        served = endpoint.stats()
    sources = Counter[str]()
    for facts in summary.jobs.values():
        sources.update(facts["source"])
    return Lived(
        served.requests + served.batch_requests,
        sum(one.tokens for one in spent),
        sum(one.usd_micros for one in spent) / 1e6,
        sources["llm"],
        summary.service_tiers.get("flex", 0),
    )


def table(agents: int = 25, ticks: int = DAY) -> Table:
    """Return the figures of single, flex, packed and packed flex calls, and of flex that is slow or busy."""
    rows = [
        Row("single, standard", live(agents, ticks, tier="standard")),
        Row("single, flex", live(agents, ticks, tier="auto")),
        Row("packed, standard", live(agents, ticks, tier="standard", pack="auto")),
        Row("packed, flex", live(agents, ticks, tier="auto", pack="auto")),
        Row("flex, 5 s slower", live(agents, ticks, tier="auto", flex_latency=5.0)),
        Row("flex, 60 s slower", live(agents, ticks, tier="auto", flex_latency=60.0)),
        Row("flex, half of it busy", live(agents, ticks, tier="auto", faults={"flex_busy": 0.5})),
    ]
    return Table("A day in the flex tier", COLUMNS, tuple(rows), decimals=4)

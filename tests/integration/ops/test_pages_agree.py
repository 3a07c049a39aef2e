"""The figures on Flower's pages equal those of `status --json`, the endpoint and the journal, at three moments."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.overview import run_overview
from cogitate.scheduler.inspection.vitals import open_kinds
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.run_store import RunStore
from tests.integration.command import typed
from tests.live_flower import flower, get, until

Eventually = Callable[..., None]

RUN = "agreed"
OWNERS = {f"agent:{name.lower()}": Profile(name=name) for name in ("Ann", "Ben", "Cid", "Dora")}
ASKED = {1: ("plan", "agent:ann"), 3: ("plan", "agent:ben"), 20: ("plan", "agent:dora")}


def told(data_dir: Path) -> dict[str, Any]:
    done = typed("status", RUN, "--json", data_dir=data_dir)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def shown(address: str, page: str, query: str = "") -> dict[str, Any]:
    status, text = get(f"{address}/{page}/data?run={RUN}{query}")
    assert status == 200, text
    found: dict[str, Any] = json.loads(text)
    return found


class Journalled:
    """The spending of a run according to its journal."""

    def __init__(self, store: RunStore) -> None:
        self.tokens_of_kinds: Counter[str] = Counter()
        self.tokens_of_owners: Counter[str] = Counter()
        self.usd_micros = 0
        for line in read_journal(store, 1, store.tick()):
            for one in spending(line.notes):
                self.tokens_of_kinds[one.key.kind] += one.cost.tokens
                self.tokens_of_owners[one.key.owner] += one.cost.tokens
                self.usd_micros += one.cost.usd_micros


def compare(address: str, data_dir: Path, endpoint: FakeEndpoint, store: RunStore) -> Journalled:
    """Compare all pages with the status, endpoint and journal while no tick ends; return the journal's spending."""
    served, status, journal = endpoint.stats(), told(data_dir), Journalled(store)
    lines = {(line["window"], line["scope"], line["unit"]): line for line in status["budget"]}
    whole, today = lines["run:0", "run", "tokens"], lines["day:0", "run", "usd_micros"]
    assert whole["spent"] == served.prompt_tokens + served.completion_tokens
    assert lines["run:0", "run", "calls"]["spent"] == served.requests - served.in_flight

    budgets = shown(address, "budgets")
    windows = {(line["window"], line["scope"], line["unit"]): line for line in budgets["windows"]}
    for key, line in windows.items():
        assert {name: line[name] for name in lines[key]} == lines[key]
    assert {key for key in lines if not key[1].startswith("owner:")} == set(windows)
    assert budgets["tick"] == status["tick"]
    owners = {owner: cost.get("tokens", 0) for owner, cost in budgets["recent"]["owners"].items()}
    assert owners == +journal.tokens_of_owners

    held: Counter[str] = Counter()
    for (window, scope, unit), line in lines.items():
        if not window.startswith("tick:"):
            named = (
                scope if scope == "run" else f"{scope.partition(':')[0]}:*"
            )  # no single kind or owner has a limit here
            held[f"{window.partition(':')[0]}.{named}.{unit}"] += line["held"]
    assert run_overview(store.client, RUN).held_under == held

    figures = ("spent", "reserved", "held", "overrun")

    def money() -> dict[str, Any]:
        cards = {card["name"]: card["figures"] for card in shown(address, "overview")["cards"]}
        return {name: cards["money"][name] for name in figures}

    until(lambda: money() == {name: today[name] for name in figures}, "a fresh overview: viewers share one per second")
    overview = shown(address, "overview")
    spenders = {owner: cost.get("tokens", 0) for owner, cost in overview["spenders"]["owners"].items()}
    assert spenders == +journal.tokens_of_owners, "the run's only day is today"
    cards = {card["name"]: card["figures"] for card in overview["cards"]}
    assert cards["spenders"].get("tokens", 0) == max(spenders.values(), default=0)
    charts = {chart["name"]: chart["totals"] for chart in shown(address, "charts", "&span=run")["charts"]}
    assert charts["tokens"] == +journal.tokens_of_kinds
    assert sum(charts["money"].values()) == journal.usd_micros
    return journal


def test_all_pages_agree_at_three_moments(tmp_path: Path, eventually: Eventually) -> None:
    data_dir = tmp_path / "data"
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=data_dir,
            workers=1,
            llm="openai",
            base_url=endpoint.url,
            api_key=SecretStr("any"),
            wait=0,
            adaptive_latency=False,
            rate_share=0,
            input_price=150_000,
            output_price=600_000,
            limits={"run.run.tokens": 1_000_000, "day.run.calls": 40},
        )
        with TickLoop(run=RUN, owners=OWNERS, settings=settings, ticks=60) as loop, flower(data_dir) as address:
            store = loop.ledger.store

            def settled() -> bool:
                return not any(kind.waiting + kind.running for kind in open_kinds(store, RUN, loop.tick).values())

            for tick in loop:
                if tick.number - 1 in (1, 3):
                    eventually(settled, f"the request of tick {tick.number - 1} to be answered")
                match tick.number:
                    case 3:
                        endpoint.change(faults={"wrong_types": 1.0})  # Ben's plan fails twice
                    case 19:
                        first = compare(address, data_dir, endpoint, store)
                    case 20:
                        endpoint.change(faults={})
                        endpoint.hold()
                    case 49:
                        endpoint.wait_until(lambda stats: stats.in_flight == 1)
                        second = compare(address, data_dir, endpoint, store)
                    case 50:
                        endpoint.release()
                        eventually(
                            lambda: store.client.hlen(store.key("corrections")) == 1, "the late answer to settle"
                        )
                if tick.number in ASKED:
                    loop.request(*ASKED[tick.number])
            third = compare(address, data_dir, endpoint, store)
            served = endpoint.stats()
    totals = [one.tokens_of_kinds.total() for one in (first, second, third)]
    assert 0 < totals[0] <= totals[1] < totals[2] == served.prompt_tokens + served.completion_tokens
    assert third.tokens_of_owners["agent:dora"] > 0, "a late answer is charged to its owner"

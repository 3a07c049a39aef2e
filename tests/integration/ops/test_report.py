"""`cogitate report` and `cogitate estimate` as a user types them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pydantic import SecretStr

import cogitate
from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.report.command import run_page
from cogitate.ops.report.run_figures import run_figures
from cogitate.scheduler.config.controls import SetLimit
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.intake.observations import Observation
from cogitate.scheduler.steering.operators import ask
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import summary, typed
from tests.live_redis import empty_redis

ODD = "agent:<script>alert(1)</script>"
SECRET = "The miller whispered that the sluice is open."
TICKS = 26 * 6  # 26 hours of ten-minute ticks


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with the run of a town."""
    folder = tmp_path_factory.mktemp("reported") / "data"
    with EmbeddedServer(folder):
        summary(
            "run",
            "--town",
            3,
            "--ticks",
            TICKS,
            "--workers",
            1,
            "--run",
            "town",
            data_dir=folder,
            COGITATE_SECONDS_PER_TICK="600",
            COGITATE_LIMITS='{"tick.run.jobs": 1}',
        )
    return folder


class Parts(HTMLParser):
    """A parser that collects a page's tags and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_report_is_one_self_contained_file(lived: Path) -> None:
    facts = summary("report", "town", "--out", lived / "town.html", data_dir=lived)
    page = Path(facts["out"]).read_text()
    assert (facts["run"], facts["bytes"]) == ("town", len(page.encode()))
    parts = Parts(page)
    assert not parts.tags & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"https?://", page)
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings == [
        "At a glance",
        "The run",
        "Budget",
        "Results by source",
        "Latency",
        "Cadence",
        "Memory",
        "Most expensive",
        "Warnings",
        "Estimate and actual amounts",
    ]
    assert page.count("<svg class") >= 4
    assert "tick.run.jobs = 1" in parts.words, "the limit that refused is named"
    assert "when the run began" in page
    plan = {one["what"]: one for one in facts["estimate"] if one["kind"] == "plan"}
    assert (plan["requests"]["actual"], plan["requests"]["within"]) == (3, True)
    assert plan["jobs"]["estimated"]["likely"] == plan["jobs"]["actual"] == 1
    assert "calls" not in plan, "no model was called"
    assert "wrote town.html" in typed("report", "town", data_dir=lived).stdout, "by default in the current folder"


def test_a_report_shows_the_runs_settings_and_operators_requests(valkey: EmbeddedServer, tmp_path: Path) -> None:
    given = Settings(data_dir=tmp_path, seconds_per_tick=600, workers=0, morning=90)
    with valkey.client() as client:
        client.flushall()
        world = {"world": "town", "seed": "7"}
        owners = {"agent:ada": Profile(name="Ada")}
        with TickLoop(
            run="told", owners=owners, settings=given, ticks=4, inline=True, client=client, describe=world
        ) as loop:
            for tick in loop:
                if tick.number == 1:
                    ask(client, "told", [SetLimit("day.run.jobs", 9)], wait=0, by="ann", reason="<b>too dear</b>")
        page = run_page(client, "told", tmp_path)[0].html()
    said = " | ".join(word.strip() for word in Parts(page).words if word.strip())
    for told in (
        f"by Cogitate {cogitate.__version__}",
        "seed | 7",
        "models | none: heuristics",
        "pace | as fast as the host runs",
        "real time | 2",
        "morning | 90",
        "limit day.run.jobs 9 | ann | <b>too dear</b> | took effect",
    ):
        assert told in said
    assert "retention_days" not in said, "a default is omitted"
    assert re.search(r"tick 2 \| \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC \| limit day.run.jobs 9", said)


def test_an_estimate_learns_from_earlier_runs(lived: Path) -> None:
    found = summary("estimate", "--agents", 10, data_dir=lived, COGITATE_SECONDS_PER_TICK="600")
    origins = {row["kind"]: row["origin"] for row in found["first"]}
    assert (found["agents"], origins["plan"], origins["act"]) == (10, "settings", "town")
    limits = '{"tick.run.jobs": 16}'
    without = typed("estimate", "--agents", 100, data_dir=lived / "none", COGITATE_LIMITS=limits).stdout
    without = " ".join(without.split())  # lines are wrapped
    assert "refused by tick.run.jobs" in without
    assert "act, prune: measured in the built-in town" in without


def test_an_estimate_with_refusals_and_a_tick_rate_fits_80_columns(tmp_path: Path) -> None:
    said = typed(
        "estimate",
        "--agents",
        100,
        "--days",
        3,
        "--llm",
        "openai",
        "--limit-usd",
        0.05,
        "--tick-rate",
        20,
        data_dir=tmp_path / "none",
        COLUMNS="80",
        OPENAI_API_KEY="any",
        COGITATE_LIMITS='{"tick.run.jobs": 9}',
    ).stdout
    assert "would be refused by" in " ".join(said.split())
    assert [line for line in said.splitlines() if len(line) > 80] == []


def test_names_are_escaped_and_memories_omitted(tmp_path: Path) -> None:
    client = empty_redis()
    owners = {ODD: Profile(name="<b>Odd</b>"), "agent:ada": Profile(name="Ada")}
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path,
            seconds_per_tick=600,
            reflection_interval=60,
            limits={},
            max_observations=50,
            llm="openai",
            limit_tokens=10_000_000,
            base_url=endpoint.url,
            api_key=SecretStr("any"),
            rate_share=0,
        )
        with TickLoop(run="odd", owners=owners, settings=settings, ticks=150, inline=True, client=client) as loop:
            for tick in loop:
                for owner in owners:
                    loop.observe(owner, Observation(text=f"{SECRET} {tick.number}", minute=tick.minute, importance=9))
    page = run_page(client, "odd", tmp_path)[0].html()
    assert "<script" not in page
    assert "agent:&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "miller" not in page
    assert "Ada" not in page
    assert "for this report" in page
    colours: dict[str, set[str]] = {}
    for colour, kind in re.findall(
        r'<g class="(s\d)"><rect [^>]*/><rect [^>]*/><title>[^<]*?, (reflect|plan|prune): ', page
    ):
        colours.setdefault(kind, set()).add(colour)
    assert {"reflect", "plan"} <= colours.keys()
    assert all(len(found) == 1 for found in colours.values()), "a kind has one colour in all charts"
    figures, whole = run_figures(client, "odd", tmp_path), summarise_run(client, "odd")
    kept = [sum(counts[name] for counts in whole.memories.values()) for name in ("live", "archived")]
    assert [figures.entries, figures.archive] == kept, "the counts match the summary"
    assert kept[1] > 0
    ended = {kind: sum(jobs["end"].values()) for kind, jobs in whole.jobs.items()}
    assert dict(figures.ended) == ended

"""The served page of a run's minds: memories fetched in parts, recalled memories, and recorded prompts."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cogitate import Observation, Profile, TickLoop
from cogitate.ops.commands.minds import MindsServer
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.ops.report.minds_reading import MindsReading
from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.browser.accessibility import check_accessible
from tests.browser.quiet_page import WINDOWS, pick, quiet_page
from tests.live_flower import flower

pytestmark = pytest.mark.system

RUN, ADA, BEN = "served", "agent:ada", "agent:ben"
ATTACK = "</script><img src=x onerror=alert(1)> said the bellows seller."
SEEN = ("The bellows of the forge are torn.", "Ben asked for a new ploughshare.", "铁匠答应明天修好水磨。", ATTACK)
PROMISE = 'I promised Ben Cole to mend his "best" plough.'


@contextmanager
def serving(minds: MindsReading) -> Iterator[MindsServer]:
    """Serve the page of the run's minds for a block."""
    with MindsServer(minds, [RUN], 0) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        try:
            yield served
        finally:
            served.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("minds") / "data"


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[MindsServer]:
    """Serve a run of 20 game hours in which Ada reflects."""
    with EmbeddedServer(data_dir) as redis:
        settings = Settings(redis_url=redis.url, data_dir=redis.data_dir)
        owners = {ADA: Profile(name="Ada Smith"), BEN: Profile(name="Ben Cole")}
        with TickLoop(run=RUN, owners=owners, ticks=1200, settings=settings) as loop:
            for tick in loop:
                if tick.minute == 100:
                    loop.observe(ADA, Observation(text=PROMISE, minute=100, importance=5, subjects=(BEN,)))
                if tick.minute % 120 == 0 and tick.minute // 120 <= len(SEEN):
                    text = SEEN[tick.minute // 120 - 1]
                    loop.observe(ADA, Observation(text=text, minute=tick.minute, importance=6, subjects=(BEN,)))
                    loop.observe(BEN, Observation(text=f"Ben: {text}", minute=tick.minute, importance=5))
        with redis.client() as client, serving(MindsReading(client)) as served:
            yield served


@pytest.fixture(params=WINDOWS)
def page(request: pytest.FixtureRequest, browser: Any, server: MindsServer) -> Iterator[Any]:
    with quiet_page(browser, server.url, request.param) as opened:
        opened.locator("body:not([inert])").wait_for()
        yield opened


def test_a_question_recalls_memories_with_the_parts_of_their_scores(page: Any) -> None:
    page.get_by_label("Ask what the agent recalls").fill("Are the bellows of the forge torn?")
    page.keyboard.press("Enter")
    best = page.locator("#recalled li").first
    best.wait_for()
    assert "bellows" in best.inner_text()
    check_accessible(page)
    names, values = (best.locator(f".parts {tag}").all_inner_texts() for tag in ("dt", "dd"))
    parts = dict(zip(names, values, strict=True))
    score = sum(float(weight) * float(value) for weight, value in (part.split("×") for part in parts.values()))
    assert {"relevance"} <= parts.keys()
    assert float(best.locator("a").inner_text().split(": ")[0]) == pytest.approx(score, abs=0.005)
    best.locator("a").click()
    page.locator("#card .said", has_text="bellows").wait_for()
    pick(page, "owner", "1")
    page.locator("#count", has_text="memories of Ben Cole").wait_for()
    assert page.locator("#recalled li").count() == 0, "these were Ada's"


def test_a_memory_and_its_job_are_fetched_when_selected(page: Any, server: MindsServer) -> None:
    page.locator(".mark.lane3.heuristic").first.click()
    card = page.locator("#card")
    card.get_by_text("by a heuristic, without a model").wait_for()
    card.locator("summary", has_text="For developers").click()
    assert card.locator("code").inner_text().startswith(f"cogitate job {RUN}/")
    assert "Its heuristic used" in card.inner_text()
    page.locator("#find").fill(f"ben: {SEEN[2]}")
    page.locator("#count", has_text="1 memory of all").wait_for()
    page.locator(".row").click()
    card.locator(".said", has_text=f"Ben: {SEEN[2]}").wait_for()
    assert page.locator("#owner").input_value() == "1"


def test_the_recipients_page_shows_a_promise_that_only_its_giver_remembers(page: Any) -> None:
    pick(page, "owner", "1")
    page.locator("#agent h3", has_text="Promises to Ben Cole: 1 open").wait_for()
    promise = page.locator("#agent .promises li")
    assert f"Ada Smith promised Ben Cole: {PROMISE}\nday 1, 1:40 AM, remembered by Ada Smith" in promise.inner_text()
    page.get_by_role("button", name="Promises of all agents").click()
    page.locator("#card h2", has_text="Promises of all agents: 1 open").wait_for()
    assert PROMISE in page.locator("#card .promises").inner_text()
    page.locator("#find").fill('HIS "best" PLOUGH')
    page.locator("#count", has_text="of all agents match").wait_for()
    assert page.locator(".row .when").first.inner_text() == "day 1, 1:40 AM, remembered by Ada Smith"


def test_a_visitor_goes_to_an_earlier_time_and_back(page: Any) -> None:
    page.get_by_label("As of").fill("noon")
    page.keyboard.press("Enter")
    page.locator("#trouble", has_text="give a tick such as 720").wait_for()
    page.get_by_label("As of").fill("day 1 5:00")
    page.keyboard.press("Enter")
    page.locator("header", has_text="As of day 1, 5:00 AM (tick 300)").wait_for()
    page.locator("#find").fill("bellows")
    page.locator("#count", has_text="2 memories of all").wait_for()
    page.locator("#find").fill(SEEN[2])
    page.locator("#count", has_text="0 memories of all").wait_for()
    page.get_by_label("Ask what the agent recalls").fill("ploughshare")
    page.keyboard.press("Enter")
    page.locator("#recalled li").first.wait_for()
    assert SEEN[1] in page.locator("#recalled").inner_text()
    assert SEEN[2] not in page.locator("#recalled").inner_text()
    page.get_by_label("As of").fill("")
    page.keyboard.press("Enter")
    page.locator("header", has_text="(tick 1,200)").wait_for()


def test_flower_shows_the_same_page_behind_its_password(browser: Any, server: MindsServer, data_dir: Path) -> None:
    with flower(data_dir, "--basic-auth=user:secret", "--url-prefix=watch") as address:
        opened = browser.new_page(http_credentials={"username": "user", "password": "secret"})
        complaints: list[str] = []
        opened.on("console", lambda message: complaints.append(message.text))
        opened.goto(f"{address}/watch/overview")
        opened.locator("nav").get_by_role("link", name="Minds").click()
        opened.get_by_label("Ask what the agent recalls").fill("bellows")
        opened.keyboard.press("Enter")
        opened.locator("#recalled a").first.wait_for()
        assert opened.locator("#run").input_value() == RUN
        check_accessible(opened)
        opened.get_by_label("As of").fill("day 9 5:00")
        opened.keyboard.press("Enter")
        opened.locator("#trouble", has_text="give a tick from 1 to 1200").wait_for()
        opened.get_by_role("link", name="All pages of Cogitate").click()
        opened.wait_for_url("**/watch/overview")
        opened.close()
    assert complaints == []


def test_memories_are_served_only_at_the_secret_address(server: MindsServer) -> None:
    for path in (server.url.replace(server.secret, "guess"), f"{server.url}/owner", f"{server.url}/owner?owner=nobody"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(path)
        assert refused.value.code == 404
        refused.value.close()


def test_two_clicks_lead_from_a_reflection_to_its_price_its_evidence_and_its_prompt(
    browser: Any, tmp_path: Path
) -> None:
    asks = {"llm": "openai", "model": MODEL, "api_key": "any", "input_price": 150_000, "output_price": 600_000}
    with EmbeddedServer(tmp_path / "data") as redis, FakeEndpoint() as endpoint:
        settings = Settings(
            redis_url=redis.url,
            data_dir=redis.data_dir,
            base_url=endpoint.url,
            limit_tokens=1_000_000,
            record=True,
            seconds_per_tick=600,
            reflection_interval=120,
            disable=("plan",),
            workers=1,
            **asks,
        )
        with TickLoop(run=RUN, owners={ADA: Profile(name="Ada Smith")}, ticks=60, settings=settings) as loop:
            for tick in loop:
                if tick.number % 6 == 1:
                    torn = f"Tear {tick.number} in the bellows of the forge."
                    loop.observe(ADA, Observation(text=torn, minute=tick.minute, importance=8))
        with (
            redis.client() as client,
            serving(MindsReading(client, settings)) as served,
            quiet_page(browser, served.url, "desktop") as page,
        ):
            page.locator(".mark.lane3").first.click()
            card = page.locator("#card")
            card.locator("dd", has_text="$").first.wait_for()
            evidence = card.locator("h3", has_text="It rests on").locator("xpath=following-sibling::ul[1]/li")
            assert "in the bellows" in evidence.first.inner_text()
            card.locator("summary", has_text="Attempt 1, user").click()
            assert "in the bellows" in card.locator("details[open] pre").inner_text()

"""A week of a town with a model: its printed report, and one of its days on the page of minds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from redis import Redis

from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.capsule.reading import ReadRun
from cogitate.ops.commands.minds import read_shown
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.report.command import run_page
from cogitate.ops.report.minds_page import write_minds
from cogitate.ops.world_choice import WorldChoice
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from tests.browser.accessibility import check_accessible
from tests.browser.quiet_page import quiet_page
from tests.browser.scene import keep
from tests.live_redis import empty_redis

pytestmark = pytest.mark.system

DAYS = 7


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Redis:
    """Run the town for a week, and return a client of its state."""
    client, world = empty_redis(), WorldChoice(agents=8, minutes_per_tick=10).open()
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path_factory.mktemp("week"),
            seconds_per_tick=600,
            act_interval=12,
            llm="openai",
            base_url=endpoint.url,
            api_key=SecretStr("any"),
            limit_tokens=10_000_000,
            rate_share=0,
        )
        with TickLoop(
            run="week",
            owners=world.owners(),
            settings=settings,
            locations=world.locations,
            brief=world.brief,
            ticks=DAYS * world.ticks_per_day,
            start_minute=world.start_minute,
            inline=True,
            client=client,
        ) as loop:
            drive(loop, world)
    return client


def test_the_report_of_a_week_prints_on_two_pages(browser: Any, week: Redis, tmp_path: Path) -> None:
    page, figures, _ = run_page(week, "week", tmp_path)
    assert len(figures.spent) == DAYS
    file = tmp_path / "week.html"
    page.write(file)
    shown = browser.new_page()
    shown.goto(file.as_uri())
    check_accessible(shown)
    printed = shown.pdf(format="A4")
    shown.close()
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) == 2


def test_each_reflection_of_a_day_shows_its_evidence_on_the_timeline(browser: Any, week: Redis, tmp_path: Path) -> None:
    file = tmp_path / "minds.html"
    write_minds([read_shown(ReadRun(week, "week"), "day 2 23:50")[0]], file)
    with quiet_page(browser, file.as_uri(), "desktop") as page:
        reflections = page.locator("#timeline .mark.lane3")
        assert reflections.count()
        linked = 0
        for number in range(reflections.count()):
            reflections.nth(number).focus()
            page.keyboard.press("Enter")
            evidence = page.locator("#card h3", has_text="It rests on").locator("xpath=following-sibling::ul[1]/li")
            assert evidence.count()
            on_timeline = page.locator("#timeline .mark.linked").count()  # without evidence of other days
            assert on_timeline <= evidence.count()
            linked += on_timeline
        assert linked
        keep(page, "minds", whole=False)

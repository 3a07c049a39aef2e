"""A report as it is printed: a week of a town that a model thinks for fills two pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from cogitate.hosting.tick_loop import TickLoop
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.ops.report.command import run_page
from cogitate.ops.world_choice import WorldChoice
from cogitate.ops.world_driver import drive
from cogitate.scheduler.config.settings import Settings
from tests.live_redis import empty_redis

pytestmark = pytest.mark.system

DAYS = 7


def test_a_week_is_two_pages(browser: Any, tmp_path: Path) -> None:
    client, world = empty_redis(), WorldChoice(agents=8, minutes_per_tick=10).open()
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path,
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
    page, figures, _ = run_page(client, "week", tmp_path)
    assert len(figures.spent) == DAYS
    file = tmp_path / "week.html"
    page.write(file)
    shown = browser.new_page()
    shown.goto(file.as_uri())
    printed = shown.pdf(format="A4")
    shown.close()
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) == 2

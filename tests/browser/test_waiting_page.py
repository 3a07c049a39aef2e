"""Flower's page of the runs that wait for each other at shared workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cogitate.workers.processes.embedded import EmbeddedServer
from tests.browser.accessibility import check_accessible
from tests.browser.quiet_page import WINDOWS, quiet_page
from tests.browser.scene import keep
from tests.integration.scheduler.test_waiting_runs import claim, hosted
from tests.live_flower import flower

pytestmark = pytest.mark.system

RUNS = {"large-town": (40, 9), "small-town": (6, 3), "village": (2, 2)}  # jobs, claims


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a Flower for three runs that share workers; two of them wait."""
    with EmbeddedServer(tmp_path_factory.mktemp("waiting") / "data") as server, server.client() as client:
        for run, (jobs, claims) in RUNS.items():
            claim(client, hosted(client, run, jobs, lease=3600.0), claims)
        with flower(server.data_dir) as found:
            yield found


@pytest.mark.parametrize("window", WINDOWS)
def test_the_page_shows_who_waits_for_whom(browser: Any, address: str, window: str) -> None:
    with quiet_page(browser, address, window) as page:
        page.goto(f"{address}/waiting")
        page.wait_for_selector("#waiting tr[data-key]")
        keep(page, "flower-waiting" if window == "desktop" else f"flower-waiting-{window}")
        cells = {
            row.locator("td").first.inner_text(): row.locator("td").all_inner_texts()
            for row in page.locator("#waiting tr[data-key]").all()
        }
        assert cells.keys() == RUNS.keys()
        shown = {run: [found[1], *found[3:]] for run, found in cells.items()}
        assert shown == {
            "large-town": ["31", "64%", "50%", "small-town, village"],
            "small-town": ["3", "21%", "50%", "large-town, village"],
            "village": ["0", "14%", "—", "—"],
        }
        assert [page.locator(f"#{name}").inner_text() for name in ("jobs", "served")] == ["34", "14"]
        assert all(found[2].endswith((" s", " min")) for run, found in cells.items() if run != "village")


def test_the_page_is_accessible(browser: Any, address: str) -> None:
    opened = browser.new_page()
    opened.goto(f"{address}/waiting")
    opened.wait_for_selector("#waiting tr[data-key]")
    check_accessible(opened)
    opened.close()

"""The page of a comparison: its map answers the mouse and the keyboard, and it loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cogitate.ops.report.comparison_page import write_comparison
from cogitate.scheduler.inspection.comparison import Comparison, OwnerDifference, Thought, Window
from tests.browser.accessibility import check_accessible

pytestmark = pytest.mark.system

ATTACK = "</script><img src=x onerror=alert(1)>"
OWNERS = ("agent:ada", "agent:ben")


def comparison() -> Comparison:
    """Two owners in four windows; the first differs in the second, the other one in the third."""

    def thought(text: str) -> Thought:
        return Thought(
            tick=7, minute=427, type="reflection", text=text, by="reflect", source="llm", evidence=("Saw a dog.",)
        )

    found = Comparison(a="usual", b="other", first=1, last=20, ends=(20, 20), width=5, minutes=[420, 425, 430, 435])
    found.differing_ticks = 2
    for window, owner in enumerate(OWNERS, 1):
        found.spread.append(OwnerDifference(owner=owner, tick=5 * window + 2, minute=422, by="reflect", a=ATTACK))
        found.owners[owner] = [
            Window(window=window, only_a=1, only_b=1, a=(thought(f"{owner} trusts."),), b=(thought(ATTACK),))
        ]
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_cell_shows_the_thoughts_of_both_runs(browser: Any, tmp_path: Path, scheme: str) -> None:
    write_comparison(comparison(), tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    cells = page.locator("#map td")
    assert cells.count() == 8
    cells.nth(1).click()
    shown = page.locator("#shown")
    for text in ("agent:ada trusts.", ATTACK, "Saw a dog.", "only in other"):
        assert text in shown.inner_text()
    page.keyboard.press("Tab")
    cells.nth(0).focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert "agent:ben trusts." in shown.inner_text()
    assert page.locator('#map td[aria-selected="true"]').count() == 1
    check_accessible(page)
    colours = {cells.nth(n).evaluate("cell => getComputedStyle(cell).backgroundColor") for n in (0, 1)}
    assert len(colours) == 2
    wide = page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.screenshot(path=str(tmp_path / f"{scheme}.png"))
    page.close()
    assert wide
    assert complaints == []
    assert len(asked) == 1

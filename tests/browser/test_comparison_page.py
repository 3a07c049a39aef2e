"""The page of a comparison: its map works with mouse and keyboard, and it loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from cogitate.memory.errors import InputError
from cogitate.ops.report.comparison_page import COLOURS, write_comparison, write_map
from cogitate.scheduler.inspection.compared.run import ComparedRun
from cogitate.scheduler.inspection.comparison import Comparison, OwnerDifference, Thought, Window
from tests.browser.accessibility import check_accessible
from tests.browser.quiet_page import quiet_page

pytestmark = pytest.mark.system

ATTACK = "</script><img src=x onerror=alert(1)>"
OWNERS = ("agent:ada", "agent:ben")


def comparison() -> Comparison:
    """Return a comparison of two owners in four windows; one differs in the second window, the other in the third."""

    def thought(text: str) -> Thought:
        return Thought(
            tick=7, minute=427, type="reflection", text=text, by="reflect", source="llm", evidence=("Saw a dog.",)
        )

    found = Comparison(a="usual", b="other", first=1, last=20, ends=(20, 20), width=5, minutes=[420, 425, 430, 435])
    found.differing_ticks, found.population = 2, 2
    found.runs = {"a": ComparedRun(world={"world": "town", "seed": "4"}), "b": ComparedRun(models=("large (seed 9)",))}
    for window, owner in enumerate(OWNERS, 1):
        found.spread.append(OwnerDifference(owner=owner, tick=5 * window + 2, minute=422, by="reflect", a=ATTACK))
        found.owners[owner] = [
            Window(window=window, only_a=1, only_b=1, a=(thought(f"{owner} trusts."),), b=(thought(ATTACK),))
        ]
    return found


def check_figure(svg: str) -> None:
    """Check that a figure is self-contained: title, legend, times, inline colours, and no script."""
    root = ElementTree.fromstring(svg)
    assert {root.tag, *(part.tag for part in root.iter())} <= {
        f"{{http://www.w3.org/2000/svg}}{name}"
        for name in ("svg", "title", "desc", "g", "rect", "text", "line", "circle")
    }
    text = " ".join(root.itertext())
    for told in (
        "Divergence of usual and other",
        "2 of 2 differ",
        "seed 4",
        "Cogitate",
        "to 75%",
        "a column is 5 ticks",
    ):
        assert told in text
    cells = [part for part in root.iter() if part.get("role") == "gridcell"]
    assert [cell.get("fill") for cell in cells].count(COLOURS[4]) == 2
    assert [cell.get("fill") for cell in cells].count(COLOURS[0]) == 6
    assert {"cursor", "chosen"}.isdisjoint(part.get("id") for part in root.iter() if part.get("stroke-width"))


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
    cells = page.locator("#map [role=gridcell]")
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
    assert page.locator('#map [aria-selected="true"]').count() == 1
    check_accessible(page)
    colours = {cells.nth(n).evaluate("cell => getComputedStyle(cell).fill") for n in (0, 1)}
    assert len(colours) == 2
    for name in ("x", "y", "width", "height"):
        frames = {page.locator(f"#{frame}").get_attribute(name) for frame in ("cursor", "chosen")}
        assert frames == {cells.nth(6).get_attribute(name)}
    with page.expect_download() as saving:
        page.locator("#save").click()
    saved = Path(saving.value.path()).read_text()
    assert saving.value.suggested_filename == "usual-and-other.svg"
    check_figure(saved)
    wide = page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.screenshot(path=str(tmp_path / f"{scheme}.png"))
    page.close()
    assert wide
    assert complaints == []
    assert len(asked) == 1


def test_the_map_is_written_as_a_separate_figure(tmp_path: Path) -> None:
    write_map(comparison(), tmp_path / "map.svg")
    check_figure((tmp_path / "map.svg").read_text())
    equal = Comparison(a="usual", b="other", first=1, last=20, ends=(20, 20), width=5)
    with pytest.raises(InputError, match="there is no map"):
        write_map(equal, tmp_path / "none.svg")


@pytest.mark.parametrize("window", ["desktop", "phone"])
def test_a_long_comparison_fits_into_its_window(browser: Any, tmp_path: Path, window: str) -> None:
    found = comparison()
    found.minutes = [420 + 30 * column for column in range(48)]
    found.spread = [msgspec.structs.replace(one, a="word " * 30, b="word " * 30) for one in found.spread]
    write_comparison(found, tmp_path / "page.html")
    with quiet_page(browser, (tmp_path / "page.html").as_uri(), window) as page:
        check_accessible(page)
        rows = page.locator("tbody tr")
        assert max(rows.nth(row).bounding_box()["height"] for row in range(rows.count())) < 400

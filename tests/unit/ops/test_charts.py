"""Charts and pages: every text is escaped, series differ without colours, nothing comes from elsewhere."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from cogitate.ops.formatting.charts import Axis, Band, Series, bar_chart, document, figure, line_chart
from cogitate.ops.report.page import Page, ReportTable, Section

EVIL = "<script>alert('x')</script> & \"more\""


def test_axes_have_round_marks_and_keep_every_value_inside() -> None:
    axis = Axis.over(0, 873)
    assert axis.marks == (0, 200, 400, 600, 800, 1000)
    assert (axis.at(-5), axis.at(500), axis.at(5000)) == (0, 0.5, 1)
    assert Axis.over(0, 0).high > 0, "nothing but zeros can be drawn"
    assert Axis.exactly(90, 300, 60).marks == (120, 180, 240, 300)
    with pytest.raises(ValueError, match="cannot reach"):
        Axis.over(0, float("nan"))
    assert [figure(v) for v in (0.25, 1200, 3.4e6, 0.0)] == ["0.25", "1,200", "3.4M", "0"]


def test_a_chart_is_valid_xml_with_any_names() -> None:
    lines = [Series(f"{EVIL}{n}", [(0, 1), (5, None), (10, n)]) for n in range(3)]
    chart = line_chart(EVIL, lines, x=Axis.exactly(0, 10, 5), y=EVIL, bands=[Band(0, 10, EVIL)], limit=2)
    bars = bar_chart(EVIL, [EVIL, "b"], [(EVIL, [1, 2]), ("other", [3, 0])], y=EVIL, limit=4)
    for drawn in (chart, bars):
        root = ElementTree.fromstring(document(drawn))
        assert not [e for e in root.iter() if e.tag.endswith("script")]
        assert EVIL in "".join(root.itertext())


def test_lines_and_bars_differ_without_colours() -> None:
    lines = [Series(str(n), [(0, n), (10, n)]) for n in range(6)]
    chart = line_chart("t", lines, x=Axis.exactly(0, 10, 5), y="y")
    drawn = re.findall(r'<g class="s\d">(.*?)</g>', chart)[-6:]
    looks = [(re.search(r'dasharray="([^"]*)"', g), re.search(r'transform="[^"]*" d="([^"]*)"', g)) for g in drawn]
    assert len({(dash[1], marker[1]) for dash, marker in looks if dash and marker}) == 6
    bars = bar_chart("t", ["a"], [(str(n), [1.0]) for n in range(8)], y="y")
    assert len(set(re.findall(r"url\(#(hatch\d)\)", bars))) == 8


def test_a_page_escapes_everything_and_needs_nothing_else() -> None:
    table = ReportTable((EVIL, "n"), [(EVIL, 1), ("x", None)], EVIL)
    page = Page(EVIL, EVIL, [Section(EVIL, [EVIL], [(EVIL, EVIL)], tables=[table])], footer=EVIL).html()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 9
    assert not re.search(r"""(?:src|href)=|@import|url\((?!#)""", page)
    for rule in ("prefers-color-scheme: dark", "@media print", 'name="viewport"'):
        assert rule in page
    assert '<td class="number">1</td>' in page

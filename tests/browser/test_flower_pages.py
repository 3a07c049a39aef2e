"""Flower's pages of Cogitate in a real Chromium, during a live run whose model fails now and then.

`artefacts/` keeps the screenshots.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from tests.browser.accessibility import check_accessible
from tests.browser.scene import Scene, keep
from tests.integration.command import summary
from tests.live_flower import flower, started, until
from tests.patience import LONGEST

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = pytest.mark.system

LIMITS = {
    "tick.run.calls": 8,
    "day.run.calls": 120,
    "day.run.tokens": 120_000,
    "day.kind:reflect.calls": 12,
    "day.run.jobs": 4_000,
}

FAULTS = {"503": 0.1, "refusal": 0.2}
CHARTS = ("tokens", "money", "sources", "late", "latency", "calls", "cadence", "age", "workers", "host")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Yield a town at eight ticks a second with its worker, its model and Flower."""
    folder = tmp_path_factory.mktemp("scene")
    data_dir = folder / "data"
    with FakeEndpoint(latency=0.02, faults=FAULTS) as endpoint:
        run = started(
            "run",
            "--town",
            5,
            "--days",
            4_000,  # it outlasts the tests on a slow machine
            "--tick-rate",
            8,
            "--workers",
            1,
            "--llm",
            "openai",
            *("--limit-usd", 1),
            data_dir=data_dir,
            log=folder / "run.log",
            COGITATE_BASE_URL=endpoint.url,
            COGITATE_API_KEY="any",
            COGITATE_MODEL=MODEL,
            COGITATE_INPUT_PRICE="150000",
            COGITATE_OUTPUT_PRICE="600000",
            COGITATE_SECONDS_PER_TICK="600",
            COGITATE_MORNING="60",
            COGITATE_REFLECTION_INTERVAL="120",
            COGITATE_ACT_INTERVAL="6",
            COGITATE_LIMITS=json.dumps(LIMITS),
            COGITATE_TUNING='{"breaker_longest_pause": 2}',
        )
        with run as host:
            until(lambda: (data_dir / "server.json").exists() or host.poll() is not None, "the run to start")
            assert host.poll() is None, (folder / "run.log").read_text()
            with flower(data_dir) as address:
                yield Scene(address, data_dir, host, endpoint)


@pytest.fixture
def page(browser: Any, scene: Scene, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yield a browser page; at the end, check that its console has no error and that it asked no other host."""
    options = getattr(request, "param", {})
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
    opened = context.new_page()
    opened.set_default_timeout(1000 * LONGEST)
    errors: list[str] = []
    hosts: set[str] = set()
    opened.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda asked: hosts.add(urlsplit(asked.url).netloc))
    yield opened
    context.close()
    assert errors == []
    assert hosts <= {urlsplit(scene.address).netloc}


def accounts(page: Any) -> dict[str, dict[str, int]]:
    """Return the accounts on the page: "window scope unit" -> column -> figure."""
    found: dict[str, dict[str, int]] = page.evaluate(
        """() => Object.fromEntries(Array.from(document.querySelectorAll(".windows tr[data-key]"),
            (row) => [row.dataset.key, Object.fromEntries(Array.from(row.querySelectorAll("td[data-name]"),
                (cell) => [cell.dataset.name.toLowerCase(), cell.querySelector("[data-value]")])
                .filter(([, value]) => value).map(([name, value]) => [name, Number(value.dataset.value)]))]))"""
    )
    return found


def expected(status: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return the limited accounts of `cogitate status --json` that the page shows: none of an owner or a tick."""
    fields = {"limit": "limit", "in flight": "reserved", "held": "held", "spent": "spent", "overrun": "overrun"}
    found = {
        f"{line['window']} {line['scope']} {line['unit']}": {column: line[field] for column, field in fields.items()}
        for line in status["budget"]
        if line["limit"] is not None
        and not line["scope"].startswith("owner:")
        and not line["window"].startswith("tick:")
    }
    windows = {"day": f"day:{status['minute'] // 1440}", "run": "run:0"}
    for limit in status["limits"]:
        period, scope, unit = limit["name"].split(".")
        if period in windows:
            unused = dict.fromkeys(fields, 0) | {"limit": limit["limit"]}
            found.setdefault(f"{windows[period]} {scope} {unit}", unused)
    return found


def test_every_page_is_in_the_navigation(page: Any, scene: Scene) -> None:
    page.goto(scene.address)
    for title in ("Budgets", "Cadence", "Charts", "Steering", "Cogitate"):
        page.get_by_role("link", name=title, exact=True).click()
        page.wait_for_selector("#page:not([hidden])")
        assert page.locator(".app-navbar [aria-current=page]").inner_text() == title
        assert page.locator("#run").input_value() == "town-1"


def test_figures_match_the_status_and_change_while_the_page_is_open(page: Any, scene: Scene) -> None:
    page.goto(f"{scene.address}/budgets")
    page.wait_for_selector('#windows tr[data-key="day:0 run calls"], #windows tr[data-key="run:0 run usd_micros"]')
    with scene.still():
        until(lambda: accounts(page) == expected(scene.status()), "the page to match the status")
        standing = accounts(page)
        assert standing["run:0 run usd_micros"]["limit"] == 1_000_000
    page.wait_for_function(
        "(tick) => Number(document.getElementById('tick').dataset.value) > tick", arg=scene.status()["tick"]
    )
    until(lambda: accounts(page) != standing, "the figures to change")
    assert accounts(page)["run:0 run usd_micros"]["limit"] == 1_000_000
    assert re.fullmatch(r"whole run\s+\d+\s+[\d,]+\s+\$0\.\d{4}", page.inner_text('#spent tr[data-key="run:0"]'))
    assert "$" in page.inner_text("#kind-spenders tr[data-key]")
    keep(page, "flower-budgets")


def figures(page: Any) -> dict[str, dict[str, float]]:
    """Return the figures of each card on the first page."""
    found: dict[str, dict[str, float]] = page.evaluate(
        """() => Object.fromEntries(Array.from(document.querySelectorAll("#cards article"), (card) => [card.id,
            Object.fromEntries(Object.entries(card.dataset).map(([name, value]) => [name, Number(value)]))]))"""
    )
    return {name.removeprefix("card-"): values for name, values in found.items()}


def figures_of_status(status: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return those of the cards' figures that `cogitate status --json` has too."""
    today = f"day:{status['minute'] // 1440}"
    of_today = [
        line
        for line in status["budget"]
        if (line["window"], line["scope"], line["unit"]) == (today, "run", "usd_micros")
    ]
    money = dict.fromkeys(("spent", "reserved", "held", "overrun"), 0)  # for a day without requests so far
    for line in of_today:
        money |= {name: line[name] for name in money}
    (model,) = status["endpoints"]
    steering, workers = status["steering"], status["workers"]
    return {
        "money": money,
        "model": {"p50": model["p50"], "p95": model["p95"]},
        "host": {"lag": steering["lag"], "host_ms": steering["host_ms"], "held": int(status["held"])},
        "workers": {"alive": len(workers["alive"]), "expected": len(workers["alive"]) + len(workers["missing"])},
    }


def shared(page: Any, status: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the same figures as `figures_of_status`, as the page shows them."""
    shown = figures(page)
    return {
        name: {key: shown[name].get(key, -1) for key in wanted} for name, wanted in figures_of_status(status).items()
    }


def test_the_first_page_matches_the_status(page: Any, scene: Scene) -> None:
    page.goto(scene.address)
    page.wait_for_selector("#card-model[data-p50]")
    for _ in range(2):
        tick = scene.status()["tick"]
        page.wait_for_function("(tick) => Number(document.body.dataset.tick) > tick", arg=tick)
        with scene.still():
            try:
                until(
                    lambda: shared(page, found := scene.status()) == figures_of_status(found),
                    "the cards to match the status",
                )
            except AssertionError:
                status = scene.status()
                assert shared(page, status) == figures_of_status(status)  # shows the difference
                raise
    assert page.locator("#rows tr[data-key] a").inner_text() == "town-1"
    page.wait_for_selector("#spenders tr[data-key]")
    keep(page, "flower-cogitate")


def test_a_refresh_keeps_elements_selection_focus_and_scroll_position(page: Any, scene: Scene) -> None:
    page.set_viewport_size({"width": 1280, "height": 400})
    page.goto(scene.address)
    page.wait_for_selector("#rows tr[data-key] a")
    page.evaluate(
        """() => {
            const cell = document.querySelector("#rows td[data-name=Run]");
            getSelection().selectAllChildren(document.querySelector("#card-host .metric-label"));
            cell.querySelector("a").focus();
            scrollTo(0, 60);
            window.kept = [cell, document.querySelector("#card-host"), document.querySelector("#rows table")];
        }"""
    )
    tick = page.evaluate("document.body.dataset.tick")
    page.wait_for_function("(tick) => Number(document.body.dataset.tick) > Number(tick) + 20", arg=tick)
    after = page.evaluate(
        """() => ({connected: window.kept.every((one) => one.isConnected), selected: String(getSelection()),
            focused: document.activeElement.textContent, scrolled: scrollY})"""
    )
    assert after == {"connected": True, "selected": "Host", "focused": "town-1", "scrolled": 60}


def test_past_days_are_collapsed_and_tick_windows_are_omitted(page: Any, scene: Scene) -> None:
    until(lambda: scene.status()["minute"] > 1440, "the second day")
    page.goto(f"{scene.address}/budgets")
    page.wait_for_selector("#past:not([hidden])")
    clock, shown, folded = page.evaluate(  # in one call: a day may end between two calls
        """() => {
            const windows = (id) => Array.from(document.querySelectorAll(id + " tr[data-key]"),
                (row) => row.dataset.key.split(" ")[0]);
            return [document.getElementById("clock").textContent, windows("#windows"), windows("#past-windows")];
        }"""
    )
    today = int(clock.split("day ")[1].split(",")[0]) - 1
    assert set(shown) <= {f"day:{today}", "run:0"}
    assert folded
    assert all(int(window.removeprefix("day:")) < today for window in folded)
    label = page.inner_text("#tightest-label").lower()
    assert f"day {today + 1}" in label or "whole run" in label, "a past day's limit refuses nothing any more"
    assert not page.locator("#past-windows tr[data-key]").first.is_visible()
    page.locator("#past summary").click()
    page.locator("#past-windows tr[data-key]").first.wait_for()


def test_every_column_of_the_budgets_fits_on_a_laptop_and_every_unit_has_a_name(page: Any, scene: Scene) -> None:
    page.goto(f"{scene.address}/budgets")
    page.wait_for_selector('#windows tr[data-key^="day:"][data-key$=" run jobs"]')
    cut_off = page.evaluate(
        """() => Array.from(document.querySelectorAll("#page figure"))
            .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.closest("[id]").id)"""
    )
    assert cut_off == []
    assert "undefined" not in page.locator("#page").inner_text()
    units = page.locator('#windows td[data-name="Unit"]').all_inner_texts()
    assert {"jobs", "calls", "tokens", "$"} <= set(units)


def test_the_cadence_page_shows_failures_and_links_to_job_and_task(page: Any, scene: Scene) -> None:
    page.goto(f"{scene.address}/cadence")
    page.wait_for_selector("#failed tr[data-key] a")
    page.wait_for_selector("#workers tr[data-key]")
    assert re.search(r"\w+ \d+×", page.locator("#classes").inner_text())
    steering = page.locator("#steering tr[data-key]").inner_text()
    assert re.search(r"every \d+ ticks|none", steering)
    assert "game" not in page.locator("#page").inner_text(), "all durations are in ticks"
    keep(page, "flower-cadence")
    attempted = page.locator("#failed tr[data-key]").filter(has_not_text="too_slow")  # a job that never ran has no task
    job = attempted.locator("a").first
    title = job.inner_text()
    assert re.fullmatch(r"[a-z]+ · [\w:-]+ · tick \d+", title)
    job.click()
    page.wait_for_url("**/job?id=**")
    page.wait_for_selector("#life tr[data-key]")
    assert page.locator("#kind").inner_text() == title.partition(" · ")[0]
    assert re.search(r"ended\s+\d\d/\d\d/\d{4}, \d\d:\d\d:\d\d in real time", page.locator("#life").inner_text())
    keep(page, "flower-job")
    page.locator("#task a").click()
    page.wait_for_url("**/task/**")
    page.get_by_role("link", name="Its life").click()
    page.wait_for_url("**/job?id=**")


def _tasks(page: Any, scene: Scene, search: str) -> str:
    """Search Flower's list of tasks, which does not refresh by itself, and return its rows' text."""
    page.goto(f"{scene.address}/tasks")
    with page.expect_response(lambda answer: search.rpartition(":")[2] in f"{answer.url} {answer.request.post_data}"):
        page.locator("input[type=search]").fill(search)
    text: str = page.locator("#tasks-table tbody").inner_text()
    return text


def test_a_failing_endpoint_shows_an_open_breaker_until_it_recovers(page: Any, scene: Scene) -> None:
    page.goto(f"{scene.address}/cadence")
    row = page.locator("#endpoints tr[data-key=default]")
    row.wait_for()
    assert "closed" in row.inner_text()
    scene.endpoint.change(faults={"503": 1.0})
    try:
        until(lambda: re.search(r"open for \d+ s \(overloaded 503 or 529\)", row.inner_text()), "the breaker to open")
        keep(page, "flower-cadence-open-breaker")
        until(lambda: "HEURISTIC" in _tasks(page, scene, "result:breaker_open"), "the task list to show heuristics")
        assert "SUCCESS" not in page.locator("#tasks-table tbody").inner_text()
        page.goto(f"{scene.address}/cadence")
    finally:
        scene.endpoint.change(faults=FAULTS)
    until(lambda: "closed" in row.inner_text(), "a probe to close the breaker")


def _hovered(plot: Any, series: Any) -> str:
    """Hover over the newest point, and return its value in the legend."""
    plot.hover(position={"x": plot.bounding_box()["width"] - 2, "y": 20})
    value: str = series.locator(".u-value").inner_text()
    return value


@pytest.mark.parametrize(
    "page",
    [{}, {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"}],
    ids=["wide", "narrow-dark"],
    indirect=True,
)
def test_charts_follow_the_run(page: Any, scene: Scene) -> None:
    page.goto(f"{scene.address}/charts?span=run")  # within the last day the model may have answered nothing
    page.wait_for_selector("#chart-host canvas")
    names = page.evaluate("() => Array.from(document.querySelectorAll('.cogitate-chart'), (one) => one.id)")
    assert names == [f"chart-{name}" for name in CHARTS]
    labels = page.locator("#chart-sources .u-legend th")
    until(
        lambda: {"llm", "heuristic"} <= {label.strip().rstrip(":") for label in labels.all_inner_texts()},
        "results of a model and of heuristics to be drawn",
    )
    drawn = """(id) => {
        const canvas = document.querySelector(id + " canvas");
        return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((one) => one > 0);
    }"""
    assert page.evaluate(drawn, "#chart-tokens")
    drawing = page.locator("#chart-host .uplot")
    until(lambda: len(drawing.get_attribute("data-marks").split()) > 1, "two full hours of the run")
    marks = drawing.get_attribute("data-marks").split()
    assert [mark for mark in marks if int(mark) % 60] == [], "grid lines are at full hours of game time"
    assert re.fullmatch(r"Each point is the mean of \d ticks \(60 game minutes\).*", page.inner_text("#window"))
    until(  # the run's limits cause refusals, which are events
        lambda: page.locator("#events tr[data-key]").count() == int(drawing.get_attribute("data-events")) > 0,
        "each event of the table to be marked in the charts",
    )
    workers = page.locator("#chart-workers .u-series").nth(1)
    plot = page.locator("#chart-workers .u-over")
    until(lambda: _hovered(plot, workers) == "1", "the chart to show one live worker")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    ink, paper = page.evaluate(
        """() => [getComputedStyle(document.querySelector("#chart-tokens th")).color,
                  getComputedStyle(document.body).backgroundColor]"""
    )
    assert abs(_light(ink) - _light(paper)) > 120
    before = page.locator("#chart-sources").get_attribute("data-totals")
    page.wait_for_function("(before) => document.getElementById('chart-sources').dataset.totals !== before", arg=before)
    theme = page.evaluate("document.documentElement.dataset.bsTheme")
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    keep(page, "flower-charts" if theme == "light" else "flower-charts-narrow-dark")
    page.get_by_role("button", name="Last day", exact=True).click()
    page.wait_for_url("**/charts?span=day")


def test_an_operator_pauses_and_resumes_the_run_after_confirming(page: Any, scene: Scene, browser: Any) -> None:
    page.goto(f"{scene.address}/steering")
    page.wait_for_selector("#may-not:not([hidden])")
    assert "--basic-auth" in page.locator("#may-not").inner_text()
    assert page.locator("[data-action=pause]").is_disabled()
    asked: list[str] = []
    with flower(scene.data_dir, "--basic-auth=ann:secret") as address:
        context = browser.new_context(http_credentials={"username": "ann", "password": "secret"})
        ours = context.new_page()
        ours.set_default_timeout(1000 * LONGEST)
        answer = [False, True, True]

        def confirm(dialog: Any) -> None:
            asked.append(dialog.message)
            dialog.accept() if answer.pop(0) else dialog.dismiss()

        ours.on("dialog", confirm)
        ours.goto(f"{address}/steering")
        ours.wait_for_selector("#acts:not([disabled])")
        ours.get_by_label("Reason, for the audit trail").fill("the model is being replaced")
        ours.get_by_role("button", name="Pause", exact=True).click()
        assert ours.locator("#outcome").inner_text() == ""
        ours.get_by_role("button", name="Pause", exact=True).click()
        until(lambda: ours.locator("#mode").inner_text() == "paused", "the run to be paused")
        row = ours.locator("#history tr[data-key]").first
        figures_of_status = r"pause\s+the model is being replaced\s+ann in Flower\s+applied\s+tick [\d,]+, day \d+"
        assert re.search(figures_of_status, row.inner_text())
        until(lambda: ours.locator("#reason").input_value() == "", "the reason to be cleared")
        keep(ours, "flower-steering")
        ours.get_by_role("button", name="Resume", exact=True).click()
        until(lambda: ours.locator("#mode").inner_text() == "running", "the run to continue")
        until(lambda: "took effect at tick" in ours.locator("#outcome").inner_text(), "the outcome of the last request")
        context.close()
    assert asked == ["Pause run town-1?", "Pause run town-1?", "Resume run town-1?"]
    assert scene.status()["steering"]["mode"] == "running"


def test_tasks_are_listed_by_kind_owner_and_tick_and_search_finds_an_agent(page: Any, scene: Scene) -> None:
    page.goto(f"{scene.address}/tasks")
    page.wait_for_selector("#tasks-table tbody td:nth-child(2)")
    until(lambda: "tick" in page.locator("#tasks-table tbody").inner_text(), "a task to be listed")
    agent = re.findall(r"([\w-]+) · tick \d+", page.locator("#tasks-table tbody").inner_text())[0]
    page.locator("input[type=search]").fill(agent)
    until(lambda: set(_owners(page)) == {agent}, f"only {agent}'s tasks to be listed")
    heads = [text.strip().lower() for text in page.locator("#tasks-table thead th").all_inner_texts()]
    cells = page.locator("#tasks-table tbody tr").first.locator("td").all_inner_texts()
    row = dict(zip(heads, cells, strict=False))
    assert re.match(rf"[a-z]+ · {agent} · tick \d+", f"{row['name'].strip()} · {row['args'].strip()}")


def _owners(page: Any) -> list[str]:
    return re.findall(r"([\w-]+) · tick \d+", page.locator("#tasks-table tbody").inner_text())


@pytest.mark.parametrize(
    "page",
    [
        {"viewport": {"width": 390, "height": 800}, "color_scheme": "light"},
        {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
    ],
    ids=["light", "dark"],
    indirect=True,
)
@pytest.mark.parametrize("name", ["overview", "budgets", "cadence", "steering"])
def test_a_page_fits_a_narrow_screen_and_is_readable(page: Any, scene: Scene, name: str) -> None:
    page.goto(f"{scene.address}/{name}")
    page.wait_for_selector("#page:not([hidden]) tr[data-key]")
    theme = page.evaluate("document.documentElement.dataset.bsTheme")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ink, paper = page.evaluate(
        """() => [getComputedStyle(document.querySelector("#page td")).color,
                  getComputedStyle(document.body).backgroundColor]"""
    )
    assert abs(_light(ink) - _light(paper)) > 120  # of 255; readable in this theme
    assert (_light(paper) < 128) == (theme == "dark")
    keep(page, f"flower-{name}-narrow-{theme}")


@pytest.mark.parametrize("page", [{"viewport": {"width": 390, "height": 844}}], indirect=True)
def test_a_phone_shows_every_figure_of_the_first_page(page: Any, scene: Scene) -> None:
    page.goto(scene.address)
    page.wait_for_selector("#rows tr[data-key]")
    page.wait_for_selector("#minutes tr[data-key]")
    keep(page, "flower-cogitate-phone")
    for table, names in (
        ("rows", ("Run", "Host", "Ticks behind", "Spent today", "Refused", "Late or too slow", "Cadence")),
        ("minutes", ("Minutes", "Ticks", "Model's", "Late", "Failed", "Refused")),
    ):
        for name in names:
            left, right, text = page.evaluate(  # in one call: a refresh may replace the cell between two calls
                """([table, name]) => {
                    const cell = document.querySelector(`#${table} tr[data-key] td[data-name="${name}"]`);
                    const box = cell.getBoundingClientRect();
                    return [box.left, box.right, cell.innerText];
                }""",
                [table, name],
            )
            assert 0 <= left < right <= 390, name
            assert text.strip(), name


@pytest.mark.parametrize("name", ["overview", "budgets", "cadence", "charts", "job", "steering"])
def test_a_page_is_accessible(page: Any, scene: Scene, name: str) -> None:
    job = summary("jobs", "town-1", "--last", 1, data_dir=scene.data_dir)["jobs"][0]["id"] if name == "job" else ""
    page.goto(f"{scene.address}/{name}?{urlencode({'id': job})}")
    page.wait_for_selector("#page:not([hidden])")
    with scene.still():
        check_accessible(page)


def _light(color: str) -> float:
    red, green, blue = map(float, re.findall(r"[\d.]+", color)[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue

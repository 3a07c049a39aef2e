"""The first page during incidents: at 1280×800, without scrolling, it names the fault.

All tests share one run. Each test repairs the fault that it caused, except the last, which kills the run's host. After
the slow model, the run takes the model for slow until new answers are fast, so that test comes shortly before the end.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from pydantic import SecretStr

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.ops.flower.pages import INTERVAL
from cogitate.scheduler.config.controls import SetLimit
from cogitate.scheduler.config.settings import PinnedSettings
from cogitate.scheduler.inspection.endpoint_vitals import EndpointVitals, endpoint_vitals
from cogitate.scheduler.inspection.recent import recent_ticks
from cogitate.scheduler.inspection.stored_run import limits_of
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.worker_signs import workers_seen
from cogitate.scheduler.steering.operators import ask
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment
from tests.browser.scene import Scene, keep
from tests.integration.command import typed
from tests.live_flower import flower, started, until
from tests.patience import LONGEST
from tests.repository import ROOT

pytestmark = pytest.mark.system

SCREEN = {"width": 1280, "height": 800}
NAMED_WITHIN = 10  # seconds, in which the page refreshes NAMED_WITHIN / INTERVAL times
LATENCY = 0.08  # seconds; ten times as much exceeds the half hour of game time that an act may wait
KIND = "trade"  # the kind of tests/browser/raising_kind.py, which only the run loads
SWITCH = "TRADE_SWITCH"  # the variable that names the file which makes the kind due
FEW = 3  # jobs; enough for the page to judge their share


@dataclass(frozen=True)
class Incidents:
    """A live run on a server that outlives its host."""

    scene: Scene
    server: EmbeddedServer

    def cogitate(self, *arguments: str) -> None:
        done = typed(*arguments, data_dir=self.scene.data_dir)
        assert done.returncode == 0, done.stderr

    def until_endpoint(self, shows: Callable[[EndpointVitals], bool], what: str) -> None:
        """Wait until the workers' calls have revealed the endpoint's fault; on a busy machine they call late."""
        with self.server.client() as client:
            until(lambda: any(map(shows, endpoint_vitals(client))), what)

    def until_jobs_end_as(self, failures: Collection[str]) -> None:
        """Wait until a few of the next jobs have ended as one of these failures, without a model's answer."""
        with self.server.client() as client:
            store = RunStore.open(client, "town-1")
            limits, begin = limits_of(store).ever, store.tick()

            def ended() -> bool:
                newest = recent_ticks(store, "town-1", limits, max(1, store.tick() - begin)).failed
                return sum(one.failure in failures for one in newest) >= FEW

            until(ended, f"jobs to end as {' or '.join(failures)}")

    @contextmanager
    def frozen_redis(self) -> Iterator[None]:
        assert self.server.pid is not None
        os.kill(self.server.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.server.pid, signal.SIGCONT)

    @contextmanager
    def disk_is_full(self) -> Iterator[None]:
        """Let the server's files not grow for a block."""
        assert self.server.pid is not None
        with self.server.client() as client:
            client.config_set("appendfsync", "everysec")  # with "always" the server would exit instead
        resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        try:
            yield
        finally:
            resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    @contextmanager
    def memory_is_full(self) -> Iterator[None]:
        """Let the server refuse all writes that need memory for a block."""
        with self.server.client() as client:
            client.config_set("maxmemory", 1)
            try:
                yield
            finally:
                client.config_set("maxmemory", 0)

    @contextmanager
    def worker_by_hand(self, name: str, base_url: str = "") -> Iterator[subprocess.Popen[bytes]]:
        """Run a worker without a supervisor for a block.

        Args:
            base_url: the URL of its endpoint; "" for the other workers' URL.
        """
        settings = PinnedSettings(
            data_dir=self.scene.data_dir,
            redis_url=SecretStr(self.server.url),
            model=MODEL,
            base_url=base_url or self.scene.endpoint.url,
            api_key=SecretStr("any"),
        )
        log = self.scene.data_dir / "by-hand.log"
        with log.open("wb") as out:
            process = subprocess.Popen(worker_command(name), env=worker_environment(settings), stdout=out, stderr=out)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            print(f"{name} said:\n{log.read_text(errors='replace')[-4_000:]}")


@pytest.fixture(scope="module")
def incidents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Incidents]:
    folder = tmp_path_factory.mktemp("incidents")
    data_dir = folder / "data"
    with EmbeddedServer(data_dir) as server, FakeEndpoint(latency=LATENCY) as endpoint:
        run = started(
            "run",
            "--town",
            5,
            "--days",
            4_000,  # it outlasts the tests on a slow machine
            "--tick-rate",
            4,
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
            COGITATE_TUNING='{"breaker_longest_pause": 2}',
            COGITATE_LIMITS=json.dumps({}),
            COGITATE_KINDS=json.dumps(["tests.browser.raising_kind"]),
            PYTHONPATH=str(ROOT),
            **{SWITCH: str(folder / SWITCH)},
        )
        with run as host, flower(data_dir) as address:
            yield Incidents(Scene(address, data_dir, host, endpoint), server)


@pytest.fixture
def opened(browser: Any, incidents: Incidents) -> Iterator[Any]:
    """Yield the first page on a laptop; at the end, check that no script has failed."""
    context = browser.new_context(viewport=SCREEN)
    opened = context.new_page()
    opened.set_default_timeout(1000 * LONGEST)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(incidents.scene.address)
    yield opened
    context.close()
    assert errors == []


@pytest.fixture
def page(opened: Any) -> Any:
    """Return the first page once the run is healthy."""
    for card in ("model", "host", "workers"):
        opened.locator(f"#card-{card}.is-good").wait_for()
    until(lambda: red_cards(opened) == [], "no card to be red")
    return opened


def red_cards(page: Any) -> list[str]:
    """Return the names of the red cards in reading order."""
    found: list[str] = page.evaluate(
        """() => Array.from(document.querySelectorAll("#cards article.is-bad"))
            .map((one) => [one.getBoundingClientRect(), one.id.replace("card-", "")])
            .sort(([a], [b]) => a.top - b.top || a.left - b.left).map(([, name]) => name)"""
    )
    return found


def blamed(page: Any, card: str, what: str, command: str, picture: str, *, jobs: bool = True) -> None:
    """Wait until a card is the first red one and matches `what`; check its command, and follow its link to jobs.

    Args:
        jobs: whether the card has that link; the workers' card has none, since other workers finish the failed jobs.
    """
    named(page, f"#card-{card}.is-bad", what, picture, lambda: red_cards(page)[:1] == [card])
    shown = page.locator(f"#card-{card}")
    assert page.locator("#trouble").is_hidden()
    assert shown.locator("code").inner_text() == command
    if not jobs:
        return
    shown.get_by_role("link", name="Jobs").click()
    page.locator("#jobs tbody tr[data-key]").first.wait_for()
    page.goto(page.url.partition("/cogitate/jobs")[0])


def named(page: Any, where: str, what: str, picture: str, also: Callable[[], bool] = lambda: True) -> None:
    """Wait until a part of the first screen matches `what`, within the number of refreshes that `NAMED_WITHIN` allows.

    It counts refreshes instead of seconds: a busy machine delays refreshes but does not need more of them.

    Args:
        also: a condition that must hold at the same time.
    """
    refreshes: list[str] = []
    part = page.locator(where)

    def count(request: Any) -> None:
        if "/data" in request.url:
            refreshes.append(request.url)

    page.on("request", count)
    began = time.monotonic()
    until(lambda: part.count() and re.search(what, part.inner_text()) and also(), f"{where} to say {what}")
    print(f"{picture}: {where} said it after {time.monotonic() - began:.1f} s and {len(refreshes)} refreshes")
    page.remove_listener("request", count)
    assert len(refreshes) <= NAMED_WITHIN / (INTERVAL / 1_000)
    box = part.bounding_box()
    assert page.evaluate("scrollY") == 0
    assert box["y"] + box["height"] <= SCREEN["height"]
    keep(page, picture, whole=False)


def test_all_cards_fit_on_the_first_screen(page: Any) -> None:
    cards = page.locator("#cards article")
    names = ["money", "spenders", "late", "failing", "reflections", "model", "host", "workers"]
    assert cards.evaluate_all("(all) => all.map((one) => one.id)") == [f"card-{name}" for name in names]
    for card in cards.all():
        box = card.bounding_box()
        assert box["y"] + box["height"] <= SCREEN["height"]
    empty = page.locator("#refused .empty-table-message")
    assert empty.bounding_box()["height"] < 2 * page.locator("#refused th").first.bounding_box()["height"]
    assert page.evaluate("scrollY") == 0


def test_the_counts_of_the_last_minutes_match_the_status(opened: Any, incidents: Incidents) -> None:
    with incidents.scene.still():

        def shown() -> dict[str, list[str]]:
            rows: dict[str, list[str]] = opened.evaluate(
                """() => Object.fromEntries(Array.from(document.querySelectorAll("#minutes tr[data-key]"),
                    (row) => [row.dataset.key, Array.from(row.cells, (cell) => cell.textContent)]))"""
            )
            return rows

        def counted() -> list[str]:
            status = incidents.scene.status()
            sources, reasons, decisions = Counter[str](), Counter[str](), Counter[str]()
            for facts in status["jobs"].values():
                sources.update(facts.get("source", {}))
                decisions.update(facts.get("decision", {}))
                reasons.update(facts.get("reason", {}))
            never_open = (
                decisions.total() - decisions["admitted"] - decisions["heuristic"]
            )  # too slow or without budget
            by_model = f"{sources['llm'] + sources['cached']:,} of {sources.total() - never_open:,}"
            failed = reasons["failed"] + reasons["dead"]
            refused = sum(one["requests"] for one in status["refusals"])
            return [f"{status['tick']:,}", by_model, f"{reasons['late']:,}", f"{failed:,}", f"{refused:,}"]

        # The run is younger than a quarter of an hour, so the row of 15 minutes covers all of it.
        until(lambda: shown().get("15", [])[1:] == counted(), f"the last 15 minutes {shown()} to be {counted()}")
        last = shown()
    assert [*last] == ["1", "5", "15"]
    ticks = [int(row[1].replace(",", "")) for row in last.values()]
    assert 0 < ticks[0] <= ticks[1] <= ticks[2]


def is_over(page: Any, what: str) -> None:
    """Wait until the events show the end of an incident, with its real and its game time."""
    line = rf"\d\d:\d\d:\d\d\s+day \d+, [\d:]+ [AP]M\s+{what}"
    until(lambda: re.search(line, page.locator("#events tbody").inner_text()), f"events to show {what}")
    times = page.locator("#events tr[data-key] td:first-child").all_inner_texts()
    assert times == sorted(times, reverse=True), "the newest is the first"


def test_a_model_that_is_down_is_named(page: Any, incidents: Incidents) -> None:
    incidents.scene.endpoint.change(faults={"503": 1.0})
    try:
        incidents.until_endpoint(lambda one: one.breaker != "closed", "the breaker to open")
        named(page, "#card-model.is-bad", r"(?s)down.*overloaded", "incident-model-down")
        card = page.locator("#card-model")
        assert card.locator("code").inner_text() == "cogitate doctor"
        assert page.title().endswith("Cogitate · Flower")
        assert page.title() != "Cogitate · Flower", "the tab names the fault"
        drawn = page.locator("link[rel=icon]").get_attribute("href")
        card.get_by_role("link", name="Jobs").click()
        page.locator("#jobs table").wait_for()
        (state,) = parse_qs(urlsplit(page.url).query)["state"]
        assert page.locator("#filters [name=state]").input_value() == state in ("failed", "late")
        page.go_back()
        page.locator("#cards article").first.wait_for()
    finally:
        incidents.scene.endpoint.change(faults={})
    page.locator("#card-model.is-good").wait_for()
    until(lambda: page.locator("link[rel=icon]").get_attribute("href") != drawn, "the icon to change again")
    is_over(page, "breaker of default closed")


def test_a_rate_limited_model_is_named(page: Any, incidents: Incidents) -> None:
    incidents.scene.endpoint.change(faults={"429:3": 1.0})
    try:
        incidents.until_endpoint(lambda one: one.failures.get("rate_limited", 0) > 0, "a call to be limited")
        said = r"(?s)limited.*(calls wait|held back)"
        named(page, "#card-model.is-bad, #card-model.is-warn", said, "incident-model-limited")
    finally:
        incidents.scene.endpoint.change(faults={})
    page.locator("#card-model.is-good").wait_for()


def test_an_exhausted_budget_is_named(page: Any, incidents: Incidents) -> None:
    incidents.cogitate("budget", "town-1", "set", "run.usd_micros", "100")
    try:
        named(
            page, "#card-money.is-bad", r"(nothing left|no room for more): .* of .*, whole run", "incident-budget-gone"
        )
    finally:
        incidents.cogitate("budget", "town-1", "set", "run.usd_micros", "1000000")
    page.locator("#card-money:not(.is-bad)").wait_for()
    for amount in ("100", "1,000,000"):
        is_over(page, rf"[^\n]+: limit run\.run\.usd_micros {amount}")


def test_a_killed_worker_is_named(page: Any, incidents: Incidents) -> None:
    client = incidents.server.client()
    with incidents.worker_by_hand("by-hand@here") as worker, client:
        until(
            lambda: worker.poll() is not None or "by-hand@here" in workers_seen(client).alive, "the worker to be ready"
        )
        named(page, "#card-workers.is-good", "2 of 2", "workers-alive")
        worker.kill()
        named(page, "#card-workers.is-bad", r"(?s)1 of 2.*missing for \d+ s: by-hand@here", "incident-worker-killed")
    with incidents.worker_by_hand("by-hand@here") as worker:
        page.locator("#card-workers.is-good").wait_for()
        worker.terminate()
        worker.wait()


def test_a_frozen_redis_is_named_and_nothing_stays_green(page: Any, incidents: Incidents, browser: Any) -> None:
    with incidents.frozen_redis():
        named(page, "#trouble", "Redis does not answer", "incident-redis-frozen")
        assert re.fullmatch(r"Stale since \d\d:\d\d:\d\d", page.locator("#live").inner_text())
        assert not page.locator(".status-dot-live").count()
        assert "grayscale" in page.locator("#page").evaluate("(one) => getComputedStyle(one).filter")
        fresh = browser.new_page(viewport=SCREEN)
        answer = fresh.goto(f"{incidents.scene.address}/overview")
        assert answer.status == 503
        named(fresh, "#trouble", "(?s)Redis does not answer.*cogitate doctor", "incident-redis-frozen-opened")
        assert fresh.get_by_role("link", name="Budgets", exact=True).is_visible(), "the navigation stays"
    for shown in (page, fresh):
        shown.locator("#page:not(.cogitate-stale):not([hidden])").wait_for()
        assert not shown.locator("#trouble").is_visible()
    fresh.close()


def refuses(page: Any, why: str, picture: str) -> None:
    """Wait until the page says that Redis refuses writes, and check that nothing on it stays green."""
    named(page, "#trouble", why, picture)
    named(page, "#card-host.is-bad", "cannot write", picture)
    tops = page.locator("#cards article").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().top)")
    assert page.locator("#card-host").bounding_box()["y"] == min(tops), "the red card is in the first row"
    assert page.locator("#live").inner_text().startswith("Redis takes no writes")
    assert not page.locator(".status-dot-live").count()
    assert not page.locator("#page.cogitate-stale").count(), "its figures are current"
    assert "unknown" in page.locator("#card-workers").inner_text()


def test_a_redis_out_of_memory_is_named(page: Any, incidents: Incidents) -> None:
    with incidents.memory_is_full():
        refuses(page, "Redis is full and refuses writes: raise maxmemory", "incident-memory-full")
    page.locator("#card-host.is-good").wait_for()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the files of another process")
def test_a_redis_with_a_full_disk_is_named(page: Any, incidents: Incidents) -> None:
    with incidents.disk_is_full():
        refuses(page, "Redis refuses writes: it cannot save to disk.*cogitate doctor", "incident-disk-full")
        page.get_by_role("link", name="Budgets", exact=True).click()
        named(page, "#trouble", "Redis refuses writes", "incident-disk-full-budgets")
        page.go_back()
    page.locator("#card-host.is-good").wait_for()
    assert not page.locator("#trouble").is_visible()


def test_hostile_names_are_shown_as_text(page: Any, incidents: Incidents) -> None:
    owner, foreign = "agent:<b id=bold>ann</b>", "<img src=x onerror=hacked()>"
    settings = PinnedSettings(
        data_dir=incidents.scene.data_dir,
        llm="openai",
        base_url=incidents.scene.endpoint.url,
        api_key=SecretStr("any"),
        model=MODEL,
        limit_tokens=100_000,
    )
    client = incidents.server.client()
    owners = {owner: Profile(name="Ann")}
    with client, TickLoop(run="named", owners=owners, settings=settings, ticks=9, inline=True, client=client) as loop:
        for tick in loop:
            if tick.number == 1:
                loop.request("plan", owner)
        ask(
            client,
            "named",
            [SetLimit("day.owner:<i id=bold>x</i>.calls", 3)],
            wait=0,
            by="<img src=x onerror=hacked()>",
        )
        HostLedger.create(client, foreign, state={})
        try:
            for name in ("overview", "budgets", "cadence", "charts", "steering", "job"):
                page.goto(f"{incidents.scene.address}/{name}?run=named&id={quote(f'named/1/plan/{owner}/0/0')}")
                page.wait_for_selector("#page:not([hidden])")
                assert foreign in page.locator("#run").inner_text()
                if name == "steering":
                    assert "<i id=bold>x</i>" in page.locator("#history").inner_text()
                    assert "by <img" in page.locator("#history").text_content()
                elif name == "job":
                    assert page.locator("#owner").inner_text().lower() == owner
                elif name in ("overview", "budgets"):
                    until(lambda: owner in page.locator("#spenders").inner_text(), "the owner to be listed")
                assert not page.locator("#page img, #run img, #bold").count()
            page.goto(f"{incidents.scene.address}/overview")
            until(lambda: foreign in page.locator("#rows").inner_text(), "the run to be listed")
        finally:
            delete_run(client, foreign, force=True)
            delete_run(client, "named", force=True)


def test_a_worker_with_a_wrong_url_is_named_among_healthy_ones(page: Any, incidents: Incidents) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # while it is bound, no program can listen on this port
        nobody = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        with incidents.worker_by_hand("lost@here", nobody) as worker:
            with incidents.server.client() as client:
                until(lambda: workers_seen(client).unanswered or worker.poll() is not None, "only its calls to fail")
            said = r"(?s)lost@here: its last \d+ calls of default failed \(connection\), those of others did not"
            try:
                blamed(page, "workers", said, "cogitate doctor", "incident-worker-lost", jobs=False)
            finally:
                worker.terminate()
                worker.wait()
    page.locator("#card-workers.is-good").wait_for()


def test_a_kind_that_always_raises_is_named(page: Any, incidents: Incidents) -> None:
    switch = incidents.scene.data_dir.parent / SWITCH
    switch.touch()
    try:
        incidents.until_jobs_end_as(["prompt_failed"])
        said = (
            rf"(?s)the code of {KIND} failed \d+×: kind '{KIND}': \w+ raised LookupError in raising_kind.py, line \d+"
        )
        blamed(page, "failing", said, f"cogitate jobs town-1 --kind {KIND}", "incident-kind-raises")
        assert page.locator("#card-model.is-bad").count() == 0, "no model is at fault"
    finally:
        switch.unlink()


def test_a_model_that_answers_garbage_is_named(page: Any, incidents: Incidents) -> None:
    incidents.scene.endpoint.change(faults={"not_json": 1.0})
    try:
        incidents.until_jobs_end_as(["not_json"])
        blamed(page, "model", r"(?s)answers, but unusable.*not_json", "cogitate doctor", "incident-model-garbage")
    finally:
        incidents.scene.endpoint.change(faults={})


def test_a_model_ten_times_slower_is_named(page: Any, incidents: Incidents) -> None:
    incidents.scene.endpoint.change(latency=10 * LATENCY)
    try:
        incidents.until_jobs_end_as(["late", "too_slow"])
        said = r"(?s)(too slow|no answer in time).*late: \d+ of \d+ jobs; not asked because they would be late: \d+"
        blamed(page, "model", said, "cogitate doctor", "incident-model-slow")
    finally:
        incidents.scene.endpoint.change(latency=LATENCY)


def test_a_model_that_rate_limits_every_call_is_named(opened: Any, incidents: Incidents) -> None:
    incidents.scene.endpoint.change(faults={"429": 1.0})
    try:
        incidents.until_endpoint(lambda one: one.failures.get("rate_limited", 0) > 0, "a call to be limited")
        blamed(opened, "model", "limited", "cogitate doctor", "incident-model-429")
        results = re.compile(
            r"\b0 of [1-9][0-9]* results"
        )  # at night no job ends, so this may take more than ten seconds
        until(lambda: results.search(opened.locator("#card-model").inner_text()), "results without a model")
    finally:
        incidents.scene.endpoint.change(faults={})


def test_a_killed_host_is_named(opened: Any, incidents: Incidents) -> None:
    opened.wait_for_function("() => Number(document.body.dataset.tick) > 0")
    incidents.scene.host.kill()
    incidents.scene.host.wait()
    named(
        opened, "#card-host.is-bad", r"(?s)gone.*cogitate run --run town-1 --resume --workers", "incident-host-killed"
    )
    named(opened, "#rows tr[data-key=town-1]", "no host", "incident-host-killed")
    last = r"Run is running, no host · last tick \d\d/\d\d/\d{4}, \d\d:\d\d:\d\d"
    assert re.fullmatch(last, opened.locator("#live").inner_text()), "the time format is that of logs"
    assert not opened.locator(".status-dot-live").count()

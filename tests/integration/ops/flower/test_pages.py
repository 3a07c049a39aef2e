"""Flower's pages over plain HTTP: who may see them, and what they show."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from pydantic import SecretStr

from cogitate.hosting.metrics import _Ledger
from cogitate.memory.effects import Append
from cogitate.ops.flower.readings import Readings
from cogitate.scheduler.config.facts import keep_settings
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.endpoint_vitals import endpoint_vitals
from cogitate.scheduler.inspection.recent import recent_ticks
from cogitate.scheduler.inspection.stored_run import limits_of, unjournalled
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.journal.history import read_journal
from cogitate.scheduler.journal.lines import reason_of
from cogitate.scheduler.journal.run_totals import spending
from cogitate.scheduler.ledger.deletion import delete_run
from cogitate.scheduler.ledger.ledger import HostLedger
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.scheduler.ledger.streams import load_streams
from cogitate.tasks.registry import kind_names
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import typed
from tests.integration.ops.flower.flower_case import LOGIN, jobs, reading
from tests.live_flower import flower, get, until

PAGES = (
    "overview",
    "overview/data",
    "budgets",
    "budgets/data",
    "cadence",
    "cadence/data",
    "waiting",
    "waiting/data",
    "charts",
    "charts/data",
    "steering",
    "steering/data",
    "minds",
    "cogitate/jobs",
    "cogitate/jobs/data",
    "cogitate/jobs/matches?run=town-1",
)


def figures(server: EmbeddedServer) -> dict[str, Any]:
    """Return the figures of `cogitate status --json`."""
    with server.client() as client:
        found: dict[str, Any] = msgspec.to_builtins(summarise_run(client, "town-1"))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_pages_and_data_require_a_login(address: str, page: str) -> None:
    assert get(f"{address}/{page}")[0] == 401
    assert get(f"{address}/{page}", "operator:wrong")[0] == 401
    assert get(f"{address}/{page}", LOGIN)[0] == 200


def test_probes_need_no_password_and_report_whether_redis_answers(address: str) -> None:
    for path in ("healthz", "readyz"):
        status, text = get(f"{address}/{path}")
        assert (status, json.loads(text)) == (200, {"redis": "answers"})


def test_a_run_before_its_first_tick_has_an_overview(address: str, server: EmbeddedServer) -> None:
    kept = {"settings": keep_settings(Settings())}
    with server.client() as client:
        HostLedger.create(client, "begun", state=kept)
        try:
            found = reading(address, "overview", "?run=begun")
        finally:
            delete_run(client, "begun", force=True)
    assert (found["tick"], found["events"]) == (0, [])
    assert [card["name"] for card in found["cards"] if card["grade"] == "bad"] == ["host"], "the run has no host"


@pytest.mark.parametrize("page", ["/", "/workers", "/tasks", "/broker", "/overview", "/budgets", "/cadence"])
def test_every_page_of_flower_links_to_ours(address: str, page: str) -> None:
    text = get(address + page, LOGIN)[1]
    assert 'href="/watch/budgets"' in text
    assert 'href="/watch/cadence"' in text
    assert 'href="/watch/overview"' in text
    assert text.count('aria-current="page"') == 1


def test_flowers_root_address_shows_the_overview(address: str) -> None:
    assert "<title>Cogitate · Flower</title>" in get(address + "/", LOGIN)[1]


def test_the_cards_match_the_status(server: EmbeddedServer, address: str) -> None:
    status = figures(server)
    cards = {card["name"]: card for card in reading(address, "overview")["cards"]}
    (today,) = [
        line
        for line in status["budget"]
        if (line["window"], line["scope"], line["unit"]) == ("day:0", "run", "usd_micros")
    ]
    money = cards["money"]["figures"]
    names = ("spent", "reserved", "held", "overrun")
    assert [money[name] for name in names] == [today[name] for name in names]
    assert money["spent"] > 0
    limited = [
        line
        for line in status["budget"]
        if line["scope"] == "run" and line["limit"] and not line["window"].startswith("tick:")
    ]
    fullest = max(limited, key=lambda line: (line["spent"] + line["reserved"]) / line["limit"])
    counted = fullest["spent"] + fullest["reserved"] - fullest["retried"] + fullest["held"]
    assert (fullest["unit"], money["limit"]) == ("calls", 12)
    assert money["left"] == fullest["limit"] - fullest["for_retries"] - counted
    steering = status["steering"]
    assert cards["host"]["figures"] == {"lag": steering["lag"], "host_ms": steering["host_ms"], "held": 0}
    assert (cards["host"]["value"], cards["host"]["grade"]) == ("left", "")
    assert cards["workers"]["figures"] == {"alive": 0, "expected": 0, "waiting": 0}, "the workers left normally"
    with server.client() as client:
        (model,) = endpoint_vitals(client)
    answered = cards["model"]["figures"]
    assert (answered["p50"], answered["p95"]) == (model.p50, model.p95) != (None, None)


def test_the_last_hour_is_counted_from_the_journal(server: EmbeddedServer, address: str) -> None:
    found = reading(address, "overview")
    assert (found["recent"]["first"], found["recent"]["last"]) == (95, 100), "ticks of ten minutes"
    with server.client() as client:
        lines = list(read_journal(RunStore.open(client, "town-1"), 95, 100))
    notes = [note for line in lines for note in line.notes.ended]
    decided = [one for line in lines for one in line.core.decided]
    cards = {card["name"]: card["figures"] for card in found["cards"]}
    assert cards["late"]["ended"] == len(notes) + sum(one.decision in ("deferred", "dropped") for one in decided) > 0
    assert cards["model"]["thought"] == sum(note.source in ("llm", "cached") for note in notes)
    denied = [one for one in decided if one.refused and reason_of(one.refused) == "denied"]
    assert sum(one["count"] for one in found["refused"]) == len(denied)
    (row,) = found["rows"]
    assert (row["run"], row["state"]) == ("town-1", "finished")
    assert [row["cells"][at][0] for at in (0, 3)] == ["0", f"{len(denied)}"]


def test_the_accounts_match_the_status(server: EmbeddedServer, address: str) -> None:
    status = figures(server)
    found = reading(address, "budgets")
    lines = [*found["windows"], *found["owners"]["fullest"]]
    shown = {(line["window"], line["scope"], line["unit"]): line for line in lines}
    limited = 0
    for line in status["budget"]:
        if line["scope"].startswith("owner:") and line["limit"] is None:
            continue
        ours = shown.pop((line["window"], line["scope"], line["unit"]))
        assert {name: ours[name] for name in line} == line
        limited += line["limit"] is not None
    assert not shown
    assert limited >= 2
    assert found["owners"]["all"] == len(found["owners"]["fullest"]) > 0
    assert (found["tick"], found["minute"], found["clock"]) == (100, 1000, "day 1, 4:40 PM")


def test_refused_and_degraded_jobs_are_counted_as_in_status(server: EmbeddedServer, address: str) -> None:
    status = figures(server)
    found = reading(address, "budgets", "?run=town-1")
    assert found["limits"] == {
        "day.owner:*.calls": "8 + 1 for retries",
        "day.run.calls": "10 + 2 for retries",
        "tick.run.jobs": "2",
        "run.run.tokens": "800,000 + 200,000 for retries",
        "tick.kind:act.calls": "4 + 1 for retries",
    }
    (day,) = [x for x in found["windows"] if (x["window"], x["scope"], x["unit"]) == ("day:0", "run", "calls")]
    assert (day["limit_words"], day["for_retries"]) == ("10 + 2 for retries", 2)
    recent = found["recent"]
    assert (recent["first"], recent["last"]) == (1, 100)  # the whole run, so it is comparable to the status
    assert found["denied"] == recent["refused"] == status["refused"] != {}
    for kind, facts in status["jobs"].items():
        tally = recent["kinds"][kind]
        assert tally["decisions"] == facts["decision"]
        assert tally["ends"] == facts["end"]
        reasons = {name: count for name, count in facts["reason"].items() if name != "none"}
        assert tally["reasons"] == reasons
    spent = {line["scope"].removeprefix("owner:") for line in status["budget"] if line["spent"]}
    assert set(recent["owners"]) == {owner for owner in spent if owner.startswith("agent:")} != set()


def test_a_shorter_look_back_counts_only_the_newest_ticks(server: EmbeddedServer) -> None:
    with server.client() as client:
        store = RunStore.open(client, "town-1")
        recent = recent_ticks(store, "town-1", limits_of(store).ever, 10)
    assert (recent.first, recent.last) == (91, 100)


def test_cadence_names_every_queue_and_worker(address: str) -> None:
    found = reading(address, "cadence")
    assert found["queues"] == dict.fromkeys(kind_names(), 0)
    assert [run["run"] for run in found["runs"]] == ["town-1"]
    assert found["status"] == "finished"
    steering = found["steering"]
    assert (steering["mode"], steering["cadence"], steering["interval"], steering["by"]) == (
        "running",
        1.0,
        720,
        "controller",
    )
    (worker,) = found["workers"]
    assert worker["running"] == 0


@pytest.mark.parametrize("page", ["overview", "budgets", "cadence"])
def test_an_unknown_run_is_reported(address: str, page: str) -> None:
    status, text = get(f"{address}/{page}/data?run=nowhere", LOGIN)
    assert status == 404
    assert "town-1" in text


def test_charts_add_up_to_the_spending_in_the_status(server: EmbeddedServer, address: str) -> None:
    status = figures(server)
    spent = {
        line["unit"]: line["spent"] for line in status["budget"] if (line["window"], line["scope"]) == ("run:0", "run")
    }
    with server.client() as client:  # spending after the last tick is in no journal line
        unjournalled_costs = [one.cost for one in spending(unjournalled(RunStore.open(client, "town-1")))]
    for span in ("day", "run"):
        found = reading(address, "charts", f"?run=town-1&span={span}")
        charts = {chart["name"]: chart for chart in found["charts"]}
        for name, unit in (("tokens", "tokens"), ("money", "usd_micros")):
            late = sum(getattr(cost, unit) for cost in unjournalled_costs)
            assert sum(charts[name]["totals"].values()) == spent[unit] - late > 0
        ended = [
            count
            for facts in status["jobs"].values()
            for end, count in facts["end"].items()
            if end != "dropped" and end != "deferred"
        ]
        assert sum(charts["sources"]["totals"].values()) == charts["late"]["totals"]["ended"] == sum(ended)
        assert all(len(line) == len(found["minutes"]) for chart in charts.values() for line in chart["series"].values())
    assert [minute // 60 for minute in found["minutes"]] == list(range(1000 // 60 + 1))
    assert [one["name"] for one in reading(address, "charts")["charts"]] == [*charts]
    assert get(f"{address}/charts/data?span=week", LOGIN)[0] == 400


def test_the_library_that_draws_the_charts_is_shipped(address: str) -> None:
    for name in ("uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE"):
        assert get(f"{address}/cogitate/static/{name}", LOGIN)[0] == 200
    assert 'src="/watch/cogitate/static/uPlot.iife.min.js"' in get(f"{address}/charts", LOGIN)[1]


def test_a_job_page_matches_the_command(server: EmbeddedServer, address: str) -> None:
    model = next(one for one in jobs(server) if one.source == "llm" and one.appended)
    refused = next(one for one in jobs(server) if one.reason == "denied")
    for one in (model, refused):
        said = typed("job", one.id, data_dir=server.data_dir).stdout
        found = reading(address, "job", f"?id={quote(one.id)}")
        assert [f"{name:<10} {text}" for name, text in found["life"]] == said.splitlines()
        assert (found["run"], found["over"], found["texts"]) == ("town-1", True, True)
    steps = [name for name, _ in reading(address, "job", f"?id={quote(model.id)}")["life"]]
    assert {"asked for", "decision", "reserved", "attempt", "end", "source", "used", "effects"} <= set(steps)


def test_a_job_shows_duration_and_usage_of_its_attempts(server: EmbeddedServer) -> None:
    asked = [one for one in jobs(server) if one.source == "llm"]
    assert asked
    for one in asked:
        assert one.tries[-1].number == one.claims
        assert (one.tries[-1].used, one.tries[-1].failure, one.tries[-1].model) == (one.usage, "", one.model)
        assert one.tries[-1].ms > 0
    assert not [one for one in jobs(server) if one.tries and one.decision != "admitted"]


def test_memory_texts_require_a_login(server: EmbeddedServer, address: str) -> None:
    one = next(one for one in jobs(server) if one.source == "llm" and one.appended)
    (text,) = [effect.entry.text for effect in one.effects if isinstance(effect, Append)]
    where = f"job?id={quote(one.id)}"
    minds = ("minds", f"minds/owner?run=town-1&owner={quote(one.owner)}", "minds/search?run=town-1&text=a")
    with flower(server.data_dir) as unasked:
        shown = json.loads(get(f"{unasked}/job/data?id={quote(one.id)}")[1])
        page = get(f"{unasked}/{where}")[1]
        assert {get(f"{unasked}/{part}")[0] for part in minds} == {403}
    assert {get(f"{address}/{part}")[0] for part in minds} == {401}
    assert text in str(json.loads(get(f"{address}/{minds[1]}", LOGIN)[1])["entries"])
    assert get(f"{address}/minds/owner?run=town-1&owner=nobody", LOGIN)[0] == 404
    assert get(f"{address}/{where}")[0] == 401
    assert text in str(reading(address, "job", f"?id={quote(one.id)}")["life"])
    assert shown["texts"] is False
    assert text not in str(shown)
    assert text not in page
    assert f"as entry {one.appended[0]}" in str(shown["life"])


@pytest.mark.parametrize("job", ["", "town-1", "town-1/1/plan/agent:nobody/0/0", "nowhere/1/plan/agent:a/0/0"])
def test_an_unknown_job_is_reported(address: str, job: str) -> None:
    for page in ("job", "job/data"):
        assert get(f"{address}/{page}?id={quote(job)}", LOGIN)[0] == 404


@pytest.mark.parametrize("forge", [lambda line: line[:-1], lambda line: line[:33] + b"{}"], ids=["cut short", "empty"])
def test_an_altered_journal_is_reported(server: EmbeddedServer, address: str, forge: Callable[[bytes], bytes]) -> None:
    with server.client() as client:
        journal = RunStore.open(client, "town-1").key("journal")
        line: Any = client.lindex(journal, -1)
        client.lset(journal, -1, forge(line))
        try:
            status, text = get(f"{address}/cadence/data?run=town-1", LOGIN)
            told = {metric.name: metric for metric in _Ledger(client, "town-1", lambda tick: 0.0).collect()}
        finally:
            client.lset(journal, -1, line)
    assert status == 503
    assert "cogitate audit" in text
    assert [sample.value for sample in told["cogitate_ledger_up"].samples] == [0]
    assert not {"cogitate_budget_spent", "cogitate_open_jobs", "cogitate_lag_ticks"} & told.keys()


def test_no_page_shows_the_text_of_a_memory(server: EmbeddedServer, address: str) -> None:
    with server.client() as client:
        store = RunStore.open(client, "town-1")
        owners: Any = client.hkeys(store.key("heads"))
        streams = load_streams(store, sorted(owner.decode() for owner in owners))
    texts = {entry.text for stream in streams.values() for entry in stream.entries.values() if len(entry.text) > 20}
    assert len(texts) > 10
    shown = "".join(get(f"{address}/{page}", LOGIN)[1] for page in (*PAGES, "tasks", "api/tasks", "broker"))
    assert not [text for text in texts if text in shown]


def test_without_runs_the_list_is_empty(valkey: EmbeddedServer) -> None:
    readings = Readings(Settings(redis_url=SecretStr(valkey.url)), {})
    assert readings.budgets(None) == readings.cadence(None) == {"runs": []}
    assert readings.overview(None) == {"runs": [], "rows": [], "further": 0}


@pytest.mark.parametrize("page", ["overview", "budgets", "cadence"])
def test_a_damaged_run_is_reported_and_hides_no_other_run(server: EmbeddedServer, address: str, page: str) -> None:
    with server.client() as client:
        HostLedger.create(client, "bad", state={})
        client.hset(RunStore.open(client, "bad").key("state"), "schema", "one")
        try:
            bad = {"run": "bad", "status": "unreadable"}
            until(lambda: bad in reading(address, page)["runs"], "a fresh reading")
            runs = reading(address, page)["runs"]
            status, text = get(f"{address}/{page}/data?run=bad", LOGIN)
            shown = get(f"{address}/{page}?run=bad", LOGIN)
        finally:
            delete_run(client, "bad", force=True)
    assert bad in runs
    assert len(runs) == 2
    assert status == shown[0] == 503
    assert "schema" in json.loads(text)["error"]
    assert "schema" in shown[1]
    assert 'href="/watch/overview"' in shown[1], "the navigation stays"

"""`cogitate load` as a user types it, with real workers over HTTP, and the assertions that CI can make with it."""

from __future__ import annotations

import csv
import json
import re
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cogitate.ops.command_options import open_state
from cogitate.ops.fake_llm.server import MODEL, FakeEndpoint
from cogitate.ops.load.figures import LoadRecorder, check_names, failures, figures, numbers, parse
from cogitate.ops.load.profiles import PROFILES, profile_of, recorded_profile, run_profile
from cogitate.ops.load.run import INPUT_PRICE, OUTPUT_PRICE, RUN
from cogitate.scheduler.config.settings import ConfigurationError, Settings
from cogitate.scheduler.config.urls import SERVER_FILE
from cogitate.scheduler.inspection.summary import summarise_run
from cogitate.scheduler.ledger.keys import RUNS
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.simulation.story.story import AGENTS
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.integration.command import summary, typed
from tests.live_flower import started, until
from tests.patience import LONGEST


def test_reflections_slow_down_in_an_outage_and_recover_without_loss(tmp_path: Path) -> None:
    found = summary(
        "load",
        "--profile",
        "outage",
        "--workers",
        1,
        "--out",
        tmp_path / "load.html",
        "--assert",
        "lost_reflections==0",
        "--assert",
        "outage.failed_share>0.9",
        data_dir=tmp_path / "data",
    )
    assert found["intervals_to_half"] <= 2
    assert found["intervals_to_base"] <= 4
    assert found["reversals_most"] <= 1
    assert found["lost_reflections"] == 0
    assert found["postponed"] > 0
    assert found["cadence_least"] <= 0.5
    assert found["cadence_last"] == 1
    assert found["phases"]["before"]["failed_share"] == 0
    # The endpoint's exact count, except for a call that a busy machine cuts off at its deadline, charged by estimate.
    assert found["tokens"] - found["unreported_tokens"] <= found["endpoint_tokens"] <= found["tokens"]
    assert found["endpoint_tokens"] > sum(one["tokens"] for one in found["phases"].values()) > 0
    page = (tmp_path / "load.html").read_text()
    for title in (
        "Queue age",
        "Cadence of reflections",
        "Late and failed",
        "Budget burn",
        "Host time per tick",
        "Throughput",
        "Results by source",
    ):
        assert f">{title}</tspan>" in page
    assert "<script" not in page


def test_an_interrupted_load_test_states_the_ticks_that_it_covers(tmp_path: Path) -> None:
    data_dir, log, page = tmp_path / "data", tmp_path / "load.log", tmp_path / "load.html"

    def ticks() -> int:
        if not (data_dir / SERVER_FILE).exists():
            return 0
        with open_state(Settings(data_dir=data_dir)) as client:
            return RunStore.open(client, RUN).tick() if client.sismember(RUNS, RUN) else 0

    test = ("load", "--profile", "steady", "--agents", 3, "--workers", 1, "--tick-rate", 20, "--out", page, "--json")
    with started(*test, data_dir=data_dir, log=log) as process:
        until(lambda: ticks() > 3 or process.poll() is not None, "some ticks")
        process.send_signal(signal.SIGINT)
        assert process.wait(LONGEST) == 130, log.read_text()
    found = json.loads(log.read_text().splitlines()[-1])
    assert found["complete"] is False
    (said,) = re.findall(r"stopped after [\d,]+ of [\d,]+ ticks: the figures cover these only", log.read_text())
    assert said.capitalize() in page.read_text()


def test_a_load_test_of_the_story_runs_its_agents(tmp_path: Path) -> None:
    found = summary(
        "load",
        "--story",
        "--profile",
        "steady",
        "--tick-rate",
        30,
        "--workers",
        1,
        "--out",
        tmp_path / "load.html",
        "--assert",
        "lost_reflections==0",
        "--assert",
        "failed_share==0",
        data_dir=tmp_path / "data",
    )
    assert found["agents"] == len(AGENTS)
    assert found["jobs"] > len(AGENTS)


def test_a_load_test_of_a_users_endpoint_keeps_its_money_limit(tmp_path: Path) -> None:
    with FakeEndpoint() as endpoint:
        found = summary(
            "load",
            "--against",
            endpoint.url,
            "--model",
            MODEL,
            "--limit-usd",
            0.002,
            "--agents",
            4,
            "--tick-rate",
            12,
            *("--workers", 1, "--out", tmp_path / "load.html"),
            data_dir=tmp_path / "data",
            COGITATE_API_KEY="any",
            COGITATE_INPUT_PRICE=str(INPUT_PRICE),
            COGITATE_OUTPUT_PRICE=str(OUTPUT_PRICE),
        )
        stats = endpoint.stats()
    assert found["endpoint_tokens"] is None, "the endpoint may serve others too"
    assert found["tokens"] == stats.prompt_tokens + stats.completion_tokens > 0
    spent = stats.prompt_tokens * INPUT_PRICE + stats.completion_tokens * OUTPUT_PRICE
    assert 0.5 * 2_000 * 1e6 < spent <= 2_000 * 1e6, "2,000 micro-dollars, at prices per million tokens"
    assert found["llm_share"] < 1, "the limit refuses the rest"


def test_unreported_tokens_are_counted_separately(tmp_path: Path) -> None:
    with FakeEndpoint(faults={"no_usage": 0.3}) as endpoint:
        found = summary(
            "load",
            "--against",
            endpoint.url,
            "--model",
            MODEL,
            *("--agents", 2, "--tick-rate", 60, "--workers", 1, "--out", tmp_path / "load.html"),
            *("--limit-tokens", 20_000),
            data_dir=tmp_path / "data",
            COGITATE_API_KEY="any",
        )
        stats = endpoint.stats()
    reported = stats.prompt_tokens + stats.completion_tokens
    assert 0 < found["tokens"] - found["unreported_tokens"] <= reported < found["tokens"]


def test_an_earlier_run_serves_as_a_load_profile(tmp_path: Path) -> None:
    home = tmp_path / "home"
    summary("run", "--town", 3, "--ticks", 900, "--run", "mine", data_dir=home, COGITATE_REFLECTION_INTERVAL="120")
    with EmbeddedServer(home) as server, server.client() as client:
        profile = run_profile(client, home, "mine")
        reflected = summarise_run(client, "mine").jobs["reflect"]["decision"]
    assert sum(one.reflections for one in profile.demand) == sum(reflected.values()) > 5
    assert (profile.agents, profile.minutes_per_tick, profile.start_minute) == (3, 1, 1)
    assert profile.demand[0].minute > 120
    out = tmp_path / "load.html"
    found = summary("load", "--from-run", "mine", "--tick-rate", 60, "--workers", 1, "--out", out, data_dir=home)
    assert (found["profile"], found["agents"], found["ticks"]) == ("from-mine", 3, 900)
    assert found["reflections"] + found["postponed"] >= sum(one.reflections for one in profile.demand) - 3


def test_a_capacity_search_runs_each_load_with_and_without_the_controller(tmp_path: Path) -> None:
    out = tmp_path / "capacity.html"
    done = typed(
        "capacity",
        "--agents",
        3,
        "--up-to",
        1,
        "--minutes",
        60,
        "--tick-rate",
        12,
        "--probe-seconds",
        100,  # by default two seconds, which a busy machine may exceed
        "--workers",
        1,
        "--out",
        out,
        "--level",
        "late_share<=1",
        "--level",
        "failed_share<=1",
        "--json",
        data_dir=None,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["off"]["holds"] == found["on"]["holds"] == "3 agents"
    assert found["off"]["breaks"] is None
    probes = {one["controller"]: one for one in found["probes"]}
    assert set(probes) == {"on", "off"}
    assert all(one["jobs"] and one["tokens"] and one["ticks"] == 13 for one in probes.values())
    assert probes["off"]["cadence_least"] == 1, "no controller throttles"
    assert "Late share and cadence over load" in out.read_text()
    assert ElementTree.parse(found["chart"]).getroot().tag.endswith("svg")


def test_a_sweep_shows_what_a_lower_cadence_saves(tmp_path: Path) -> None:
    out = tmp_path / "sweep.html"
    few = ("--agents", 4, "--tick-rate", 30, "--workers", 1)
    done = typed("load", "--sweep", "cadence=1,0.125", *few, "--out", out, "--json", data_dir=tmp_path / "data")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    usual, rare = found["tests"]
    assert (usual["value"], rare["value"], found["compared_with"]) == (1, 0.125, 1)
    assert 0 < rare["reflections"] < usual["reflections"]
    assert usual["usd"] > 0 < rare["usd"]
    assert rare["tokens_share_of_base"] == round(rare["tokens"] / usual["tokens"], 4)
    assert rare["reflections_share_of_base"] == round(rare["reflections"] / usual["reflections"], 4)
    assert "cadence 0.125, compared with 1:" in out.read_text()


def test_the_tests_of_a_sweep_share_its_limit(tmp_path: Path) -> None:
    with FakeEndpoint() as endpoint:
        found = summary(
            "load",
            *("--sweep", "cadence=1,0.5", "--against", endpoint.url, "--model", MODEL, "--limit-tokens", 20_000),
            *("--agents", 4, "--tick-rate", 30, "--workers", 1, "--out", tmp_path / "sweep.html"),
            data_dir=tmp_path / "data",
            COGITATE_API_KEY="any",
        )
        stats = endpoint.stats()
    assert all(0 < one["tokens"] <= 10_000 for one in found["tests"])
    charged, unreported = (sum(one[name] for one in found["tests"]) for name in ("tokens", "unreported_tokens"))
    assert charged - unreported <= stats.prompt_tokens + stats.completion_tokens <= charged


def test_a_load_test_of_the_story_takes_no_number_of_agents(tmp_path: Path) -> None:
    done = typed("load", "--story", "--agents", 3, data_dir=tmp_path / "data")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "give --agents 3 or --story, not both" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--assert", "lateness<1"), "'lateness'; known: agents, behind_most"),
        (("--against", "http://localhost:1/v1"), "may cost money"),
        (("--find", "--up-to", "20"), "cogitate capacity"),
        (("--sweep", "pace=1,2"), "parameters: cadence, agents, latency"),
        (("--sweep", "agents=2,4", "--story"), "sweep cadence or latency"),
        (("--sweep", "latency=0,1", "--against", "http://localhost:1/v1", "--limit-tokens", "9"), "on request"),
    ],
)
def test_an_impossible_load_test_is_refused_before_it_starts(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = typed("load", "--profile", "outage", *arguments, data_dir=tmp_path / "data")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr
    assert not (tmp_path / "data").exists()


def test_an_assertion_is_a_name_a_comparison_and_a_number() -> None:
    known = {"late_share": 0.04, "intervals_to_base": None}
    assert failures([parse("late_share<0.05"), parse(" late_share >= 4e-2 ")], known) == []
    assert failures([parse("late_share<0.01")], known) == ["late_share<0.01: it is 0.04"]
    assert failures([parse("intervals_to_base<=4")], known) == ["intervals_to_base<=4: the figure has no value"]
    for wrong in ("late_share", "late_share<", "__import__('os')<1", "late_share<0.05 or 1<2", "1<2<3"):
        with pytest.raises(ConfigurationError):
            check_names([parse(wrong)], known)


@pytest.mark.parametrize("name", PROFILES)
def test_each_profile_has_figures_for_every_phase_and_ends_in_its_last_phase(name: str) -> None:
    profile = profile_of(name)
    last = profile.start_minute + profile.ticks * profile.minutes_per_tick
    assert profile.at(last)[1] is profile.phases[-1]
    assert profile.at(profile.start_minute)[1] is profile.phases[0]
    found = numbers(figures(profile, LoadRecorder(), open_reflections=0, waiting=(), interval=60))
    assert {f"{phase.name}.late_share" for phase in profile.phases} <= set(found)


def test_a_recorded_demand_serves_as_a_load_profile(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sim_time", "importance_jobs", "chat_nodes", "reflect_jobs", "reflect_llm_calls"])
        rows.writerows([["2023-02-13 00:00:10", 6, 0, 0, 0], ["2023-02-13 06:00:10", 2, 0, 1, 8]])
        rows.writerow(["2023-02-13 06:00:50", 1, 0, 1, 8])
    profile = recorded_profile(path)
    assert [(one.minute, one.ratings, one.reflections) for one in profile.demand] == [(351, 6, 0), (360, 3, 2)]
    assert profile.start_minute == 350
    path.write_text("when,what\n1,2\n")
    with pytest.raises(ConfigurationError, match="sim_time"):
        recorded_profile(path)

"""The operator's commands for a run with a live host: limits, cadence, pause, drain, cancel."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from cogitate.hosting.tick_loop import TickLoop
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.ledger.errors import LedgerError
from cogitate.scheduler.ledger.run_store import RunStore, run_names
from cogitate.workers.processes.embedded import EmbeddedServer
from tests.conftest import Eventually
from tests.integration.command import command, typed
from tests.patience import LONGEST
from tests.process_environment import clean_environment

RUN = "steered"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("steered") / "data") as running:
        yield running


@pytest.fixture
def host(server: EmbeddedServer, eventually: Eventually) -> Iterator[subprocess.Popen[bytes]]:
    """Run a small town at twenty ticks a second, resumed if the run exists already."""
    with server.client() as client:
        which = ["--resume"] if RUN in run_names(client) else ["--town", 2, "--ticks", 20_000]
    log = server.data_dir / "host.log"
    with log.open("wb") as out:
        started = subprocess.Popen(
            command(
                "run", "--run", RUN, *which, "--workers", 1, "--tick-rate", 20, "--wait", 60, data_dir=server.data_dir
            ),
            env=clean_environment(),
            cwd=server.data_dir.parent,
            stdout=out,
            stderr=out,
        )
    with server.client() as client:

        def runs() -> bool:
            here = RUN in run_names(client) and RunStore.open(client, RUN).field("state", "status") == b"running"
            return here or started.poll() is not None

        eventually(runs, "the host to open its run", 60)
    assert started.poll() is None, log.read_text()
    yield started
    started.terminate()
    try:
        started.wait(LONGEST)
    finally:
        started.kill()
        started.wait()


def facts(server: EmbeddedServer, *arguments: object, code: int = 0) -> dict[str, Any]:
    done = typed(*arguments, "--json", data_dir=server.data_dir)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def applied(server: EmbeddedServer, *arguments: object) -> int:
    """Send a request, check that it is applied, and return the tick at which it took effect."""
    (request,) = facts(server, *arguments)["requests"]
    assert request["state"] == "applied"
    tick = request["tick"]
    assert isinstance(tick, int)
    return tick


def test_an_operator_steers_a_run(
    server: EmbeddedServer, host: subprocess.Popen[bytes], eventually: Eventually
) -> None:
    first = applied(server, "budget", RUN, "set", "day.tokens", 200_000)
    assert facts(server, "budget", RUN)["limits"]["day.run.tokens"] == 200_000
    said = typed("budget", RUN, "unset", "day.tokens", data_dir=server.data_dir).stdout
    assert "limit day.run.tokens lifted: took effect at tick" in said
    shown = facts(server, "budget", RUN, "show")
    assert "day.run.tokens" not in shown["limits"]
    assert shown["changed"][0] == first
    stranger = typed("budget", RUN, "set", "day.owner:agent:nobody.calls", 10, data_dir=server.data_dir)
    assert stranger.returncode == 0
    assert "limit day.owner:agent:nobody.calls 8 + 2 for retries: " in stranger.stdout
    assert f"agent:nobody is not in run {RUN}" in stranger.stderr
    with server.client() as client:
        known = min(client.hkeys(RunStore.open(client, RUN).key("owners"))).decode()
    member = typed("budget", RUN, "set", f"day.owner:{known}.calls", 10, data_dir=server.data_dir)
    assert (member.returncode, member.stderr) == (0, "")
    said = typed("budget", RUN, data_dir=server.data_dir).stdout
    assert "day.owner:agent:nobody.calls = 8 + 2 for retries" in said

    applied(server, "throttle", RUN, "reflect", 0.25, "--pin")
    cadence = facts(server, "throttle", RUN)
    assert (cadence["cadence"], cadence["interval"], cadence["by"]) == (0.25, 2880, "pinned")
    assert (
        "at 0.25 of the usual cadence; pinned by an operator" in typed("status", RUN, data_dir=server.data_dir).stdout
    )
    applied(server, "throttle", RUN, "--auto")
    assert facts(server, "throttle", RUN)["by"] == "controller"

    paused = applied(server, "pause", RUN, "--reason", "the model is being replaced")
    eventually(lambda: facts(server, "status", RUN)["status"] == "paused", "the run to be paused")
    assert facts(server, "status", RUN)["tick"] == paused
    told = typed("status", RUN, data_dir=server.data_dir).stdout
    assert f"tick {paused:,}: {facts(server, 'status', RUN)['requests'][0]['by']}: pause (the model is being" in told
    waits = typed("budget", RUN, "set", "day.calls", 500, data_dir=server.data_dir)
    assert (waits.returncode, ": waits; " in waits.stdout) == (3, True)
    assert facts(server, "status", RUN)["tick"] == paused, "no tick runs"
    assert applied(server, "resume", RUN) == paused + 1

    unknown = typed("retry", f"{RUN}/1/plan/agent:a/0/0", data_dir=server.data_dir)
    assert (unknown.returncode, len(unknown.stderr.splitlines())) == (2, 1)
    assert "has no job" in unknown.stderr

    for targets, why in (
        ((f"{RUN}/1/plan/agent:a/0/0",), "has no job"),
        ((RUN, "--kind", "hum", "--yes"), "Of 0 open matches, 0 can be cancelled"),
    ):
        unknown = typed("cancel-jobs", *targets, "--reason", "slow", data_dir=server.data_dir)
        assert (unknown.returncode, why in unknown.stderr) == (2, True)

    refused = typed("budget", RUN, "set", "day.kind:dream.calls", 5, data_dir=server.data_dir)
    assert (refused.returncode, "'dream'" in refused.stdout) == (1, True)

    applied(server, "drain", RUN)
    assert host.wait(LONGEST) == 0
    status = facts(server, "status", RUN)
    assert (status["status"], status["steering"]["mode"]) == ("stopped", "drained")

    (request,) = facts(server, "throttle", RUN, "reflect", 0.5, code=3)["requests"]
    assert "no host" in request["detail"]
    without_wait = typed("throttle", RUN, "reflect", 0.5, "--no-wait", data_dir=server.data_dir)
    assert (without_wait.returncode, "no host is active" in without_wait.stdout) == (0, True)
    assert facts(server, "status", RUN)["steering"]["asked"] == 2


def test_a_cancelled_run_takes_no_requests_and_cannot_be_resumed(
    server: EmbeddedServer, host: subprocess.Popen[bytes]
) -> None:
    asked = typed("cancel", RUN, data_dir=server.data_dir)
    assert (asked.returncode, "without a terminal: give --yes" in asked.stderr) == (2, True)
    assert host.poll() is None
    applied(server, "cancel", RUN, "--yes")
    assert host.wait(LONGEST) == 0
    status = facts(server, "status", RUN)
    assert (status["status"], status["steering"]["asked"]) == ("cancelled", 0)
    over = typed("resume", RUN, data_dir=server.data_dir)
    assert (over.returncode, over.stderr) == (
        2,
        f"cogitate: run {RUN!r} is cancelled and takes no more requests\n",
    )
    again = typed("run", "--resume", "--run", RUN, data_dir=server.data_dir)
    assert again.returncode == 1
    assert f"run {RUN!r} is cancelled and cannot be resumed" in again.stderr
    assert "resume it with" not in again.stderr
    with server.client() as client, pytest.raises(LedgerError, match="is cancelled and cannot be resumed"):
        TickLoop(
            run=RUN, owners={}, settings=Settings(data_dir=server.data_dir), exist="resume", inline=True, client=client
        )
    assert facts(server, "status", RUN)["status"] == "cancelled"
    assert facts(server, "audit", RUN)["findings"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["budget", RUN, "set", "day.tokens"], "give `set NAME VALUE`"),
        (["budget", RUN, "set", "week.tokens", 1], "tick, day, run"),
        (["throttle", RUN, "reflect", 1.5], "1.5"),
        (["throttle", RUN, "--pin", "--auto"], "--pin or --auto"),
        (["throttle", RUN, "plan"], "reflect"),
        (["throttle", RUN, "plan", 0.5], "day.kind:plan.calls"),
        (["budget", RUN, "set", "day.owner:agnet:ada.calls", 5], "'agnet:ada'"),
        (["pause", "nowhere"], "'nowhere'"),
        (["retry", "plan"], "'plan'"),
        (["cancel", f"{RUN}/1/plan/agent:a/0/0"], f"cogitate cancel-jobs {RUN}/1/plan/agent:a/0/0"),
        (["cancel-jobs", "--yes", RUN], "give --reason TEXT"),
        (["cancel-jobs", RUN, "--yes", "--reason", " "], "give --reason TEXT"),
        (["cancel-jobs", "town.capsule", "--yes", "--reason", "slow"], "'town.capsule' is a file"),
        (["retry", "town.capsule", "--yes", "--reason", "slow"], "'town.capsule' is a file"),
        (["cancel-jobs", "nowhere", "--yes", "--reason", "slow"], "'nowhere'"),
        (["cancel-jobs", f"{RUN}/1/plan/agent:a/0/0", "--kind", "plan", "--reason", "slow"], "give the run's name"),
        (["retry", f"{RUN}/1/plan/agent:a/0/0", "other/1/plan/agent:a/0/0"], "several runs"),
        (["retry", "nowhere/1/plan/agent:a/0/0"], "'nowhere'"),
    ],
)
def test_an_invalid_request_is_reported_in_one_line(
    server: EmbeddedServer, arguments: list[object], message: str
) -> None:
    done = typed(*arguments, data_dir=server.data_dir)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr

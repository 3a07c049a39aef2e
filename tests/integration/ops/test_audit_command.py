"""`cogitate audit` and `cogitate run --audit`, as a user runs them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal

import pytest

from cogitate import Observation, Profile, Settings, TickLoop
from cogitate.ops.commands.verify import audit_at_end, tick_auditor
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.ledger.outage import outage_of
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.server_keeper import ServerKeeper
from tests.integration.command import summary, typed

RUN = ("run", "--town", 3, "--ticks", 380, "--run", "watched", "--workers", 1)


def test_a_sound_run_has_no_findings_and_an_altered_account_is_reported(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with EmbeddedServer(data_dir) as server, server.client() as client:
        summary(*RUN, "--audit", data_dir=data_dir, COGITATE_LIMITS='{"day.run.calls": 600}')
        assert summary("audit", "watched", data_dir=data_dir) == {"run": "watched", "findings": [], "left_out": []}
        window = RunStore.open(client, "watched").window_key("day:0")
        client.hincrby(window, "run|calls|spent", 1_000)
        found = typed("audit", "watched", data_dir=data_dir)
        assert found.returncode == 1
        assert "day 1 run calls: reserved 0 + spent" in found.stdout
        resumed = typed("run", "--run", "watched", "--resume", "--ticks", 382, "--audit", data_dir=data_dir)
    assert resumed.returncode == 1
    assert "the audit after tick" in resumed.stderr
    assert "Traceback" not in resumed.stderr


def test_auditing_an_unknown_run_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    done = typed("audit", "nobody", data_dir=tmp_path / "data")
    assert done.returncode == 2
    assert "nobody" in done.stderr


@pytest.mark.parametrize("policy", ["pause", "carry_on"])
def test_a_run_audited_at_each_tick_survives_an_outage(tmp_path: Path, policy: Literal["pause", "carry_on"]) -> None:
    settings = Settings(data_dir=tmp_path, on_outage=policy)

    def kill(server: EmbeddedServer) -> None:
        before = server.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)

    with EmbeddedServer(tmp_path) as server, server.client() as client:
        with (
            TickLoop(
                run="r",
                owners={"agent:ada": Profile(name="Ada")},
                settings=settings,
                ticks=20,
                inline=True,
                client=client,
            ) as loop,
            ServerKeeper(server),
        ):
            outage = loop.ledger.outage = outage_of(settings, "r", client.ping)
            check = tick_auditor(loop)
            for tick in loop:
                loop.observe("agent:ada", Observation(text=f"It is {tick.number} now.", minute=tick.minute))
                if tick.number == 8:
                    kill(server)
                check(tick)
        assert loop.tick == 20
        assert outage.lost > 0 or policy == "carry_on"
        with ServerKeeper(server):
            kill(server)
            audit_at_end(client, "r", settings.outage_wait)
        assert audit(client, "r") == []

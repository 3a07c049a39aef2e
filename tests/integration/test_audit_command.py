"""`cogitate audit` and `cogitate run --audit`, as a user runs them."""

from __future__ import annotations

from pathlib import Path

from command import cogitate, summary, typed

from scheduler.summary import prefix_of
from workers.embedded import EmbeddedServer

RUN = ("run", "--town", 3, "--ticks", 380, "--run", "watched", "--workers", 1)


def test_a_sound_run_has_no_findings_and_a_changed_account_is_found(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with EmbeddedServer(data_dir) as server, server.client() as client:
        summary(*RUN, "--audit", data_dir=data_dir, COGITATE_LIMITS='{"day.run.calls": 600}')
        assert summary("audit", "watched", data_dir=data_dir) == {"run": "watched", "findings": [], "left_out": []}
        window = prefix_of(client, "watched") + "window:day:0"
        client.hincrby(window, "run|calls|spent", 1_000)
        found = typed("audit", "watched", data_dir=data_dir)
        assert found.returncode == 1
        assert "day 1 run calls: reserved 0 + spent" in found.stdout
        resumed = cogitate("run", "--run", "watched", "--resume", "--ticks", 382, "--audit", data_dir=data_dir)
    assert resumed.returncode == 1
    assert "the audit after tick" in resumed.stderr
    assert "Traceback" not in resumed.stderr


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    done = typed("audit", "nobody", data_dir=tmp_path / "data")
    assert done.returncode == 2
    assert "nobody" in done.stderr

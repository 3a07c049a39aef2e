"""An experiment whose runs are hosted by the user's own program, and one that is interrupted."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.faults.attacked import Eventually
from tests.integration.ops.experiment.experiment_case import rows_of, started, write_case
from tests.patience import LONGEST

HOST = """
import sys
from cogitate import Fork, Profile, Settings, TickLoop

run, seed, weather, source, tick = sys.argv[1:]
fork = Fork(run=source, tick=int(tick)) if source else None
PLACES = ("mill", "bridge", "inn", "harbour", "market", "forge", "school", "chapel")
owners = {"agent:ada": Profile(name="Ada")}
with TickLoop(run=run, owners=owners, settings=Settings(), ticks=8, exist="resume", fork=fork) as loop:
    for now in loop:
        seen = weather if now.number > 4 else "sun"
        loop.observe("agent:ada", {"text": f"There is {seen} over the {PLACES[now.number - 1]}."})
print("hosted", run, "with act_interval", Settings().act_interval)
"""

EXPERIMENT = """
command = ["{python}", "host.py", "{{run}}", "{{seed}}", "{{weather}}", "{{source}}", "{{tick}}"]
at = "4"
replicates = 2
seed = 7
measures = ["measures:wet"]
base.settings.act_interval = 33
conditions.world.weather = ["sun", "rain"]
"""

MEASURES = """
def wet(run):
    rain = [memory["tick"] for memory in run.memories if "rain" in memory["text"]]
    return {"days": len(rain), "first": min(rain, default=None), "seed": run.seed}
"""


def test_a_command_hosts_every_run_with_its_settings_and_forks_from_the_base(tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(HOST)
    (tmp_path / "measures.py").write_text(MEASURES)
    file = tmp_path / "rain.toml"
    file.write_text(EXPERIMENT.format(python=sys.executable))
    with FakeEndpoint() as endpoint:
        sweep = started(file, endpoint.url)
        _, err = sweep.communicate(timeout=LONGEST)
        assert sweep.returncode == 0, err
        assert endpoint.stats().requests == 0
    measured = {
        (row["run"], row["measure"]): float(row["value"])
        for row in rows_of(tmp_path / "rain" / "measures.csv")
        if row["measure"].startswith("wet.")
    }
    assert {run: value for (run, name), value in measured.items() if name == "wet.days"} == {
        "c0-r1": 0,
        "c1-r1": 4,
        "c0-r2": 0,
        "c1-r2": 4,
    }
    assert {run: value for (run, name), value in measured.items() if name == "wet.first"} == {"c1-r1": 5, "c1-r2": 5}
    assert measured["c1-r2", "wet.seed"] == 8
    assert (tmp_path / "rain" / "logs" / "c1-r1.log").read_text().endswith("hosted c1-r1 with act_interval 33\n")


def test_an_interrupted_experiment_leaves_its_runs_and_continues(tmp_path: Path, eventually: Eventually) -> None:
    file = write_case(tmp_path / "case", limit="limit_tokens = 1_000_000", replicates=2)
    done = file.with_suffix("") / "done.jsonl"
    with FakeEndpoint(latency=0.1) as endpoint:
        sweep = started(file, endpoint.url)
        eventually(lambda: done.exists() and done.read_bytes().count(b"\n") >= 2, "two runs")
        sweep.send_signal(signal.SIGINT)
        out, err = sweep.communicate(timeout=LONGEST)
        assert sweep.returncode == 130, err
        assert "leaving the runs, which can be continued" in err
        left = len(rows_of(file.with_suffix("") / "runs.csv"))
        assert f"{left} of 18 runs" in out
        assert 2 <= left < 18
        rest = started(file, endpoint.url)
        _, err = rest.communicate(timeout=LONGEST)
        assert rest.returncode == 0, err
        rows = rows_of(file.with_suffix("") / "runs.csv")
        assert len(rows) == 18
        assert {row["by_model"] for row in rows} == {"9"}

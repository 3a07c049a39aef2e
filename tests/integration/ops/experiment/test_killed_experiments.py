"""An experiment killed and repeated reaches the results of an undisturbed one, within its limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from cogitate.ops.fake_llm.server import FakeEndpoint
from tests.faults.attacked import Eventually
from tests.integration.command import left_behind
from tests.integration.ops.experiment.experiment_case import rows_of, started, write_case
from tests.patience import LONGEST
from tests.processes import running

LIMIT = 100_000
SEEDS = 2  # of each of the nine conditions
RUNS = 9 * SEEDS
KILLED_AFTER = (2, 8, 14)  # finished runs

REFERENCE = """
import json
import sys
from cogitate import Settings, TickLoop
from cogitate.ops.world_driver import drive
from council import Council

digests = {}
grid = [(weather, retrieval) for retrieval in ("default", "spec", "dialogue") for weather in ("sun", "rain", "snow")]
for n, (weather, retrieval) in enumerate(grid):
    for seed in range(int(sys.argv[2])):
        town = Council(seed, weather)
        settings = Settings(llm="openai", base_url=sys.argv[1], api_key="any", limit_tokens=10**12, retrieval=retrieval)
        with TickLoop(run="one", owners=town.owners(), settings=settings, ticks=4, inline=True) as loop:
            drive(loop, town)
        digests[f"c{n}-r{seed + 1}"] = loop.digest
print(json.dumps(digests))
"""


def state_of(sweep: subprocess.Popen[str], folder: Path) -> str:
    """Return the evidence of why an experiment stalls: its exit code, output, finished runs, and logs."""
    code = sweep.poll()
    sweep.kill()
    logs = [*(folder / "logs").glob("*.log"), *(folder / "data").glob("*.log")]
    printed = {file.name: file.read_text()[-500:] for file in logs if file.stat().st_size}
    return f"{code=}\n{sweep.communicate()[1][-2000:]}\n{(folder / 'done.jsonl').read_text()[-200:]}\n{printed}"


def reference_of(file: Path, url: str) -> subprocess.Popen[bytes]:
    """Start one process that runs the same councils in turn and then prints their digests."""
    (file.parent / "reference.py").write_text(REFERENCE)
    command = [sys.executable, "reference.py", url, str(SEEDS)]
    return subprocess.Popen(command, cwd=file.parent, stdout=subprocess.PIPE)


def test_an_experiment_killed_three_times_reaches_the_undisturbed_digests(
    tmp_path: Path, eventually: Eventually
) -> None:
    file = write_case(tmp_path / "case", limit=f"limit_tokens = {LIMIT}", replicates=SEEDS)
    folder = file.with_suffix("")
    done = folder / "done.jsonl"

    def runs_done() -> int:
        return len(done.read_bytes().splitlines()) if done.exists() else 0

    with (
        FakeEndpoint(latency=0.05) as endpoint,
        FakeEndpoint() as at_once,  # without latency, since the reference makes its calls one by one
        running(reference_of(file, at_once.url)) as reference,
    ):
        for count in KILLED_AFTER:
            sweep = started(file, endpoint.url)
            try:
                eventually(lambda least=count, of=sweep: runs_done() >= least or of.poll() is not None, f"{count} runs")
                assert sweep.poll() is None
            except AssertionError as stalled:
                stalled.add_note(state_of(sweep, folder))
                raise
            finally:
                sweep.kill()
                sweep.communicate()
        last = started(file, endpoint.url, "--json")
        out, err = last.communicate(timeout=LONGEST)
        assert last.returncode == 0, err
        answered = endpoint.stats()
        digests, _ = reference.communicate(timeout=LONGEST)
        assert reference.returncode == 0
    rows = rows_of(folder / "runs.csv")
    assert {row["run"]: row["digest"] for row in rows} == json.loads(digests)
    assert len(rows) == RUNS
    measures = Counter((row["run"], row["measure"]) for row in rows_of(folder / "measures.csv"))
    assert len(measures) == RUNS * 8
    assert set(measures.values()) == {1}
    assert {row["by_heuristic"] for row in rows} == {"0"}
    told = json.loads(out.splitlines()[-1])
    assert told["done"] == RUNS
    assert sum(int(row["tokens"]) for row in rows) <= told["spent"]["tokens"] <= LIMIT
    assert answered.prompt_tokens + answered.completion_tokens <= LIMIT
    eventually(lambda: not left_behind(folder / "data"), "the guards of the killed processes to end")


def test_an_experiment_whose_workers_cannot_start_ends_with_their_reason(tmp_path: Path) -> None:
    file = write_case(tmp_path / "case", limit=f"limit_tokens = {LIMIT}")
    council = file.parent / "council.py"
    only_in_workers = "import os\nif 'COGITATE_PARENT_PID' in os.environ:\n    raise RuntimeError('no councils here')\n"
    council.write_text(council.read_text() + only_in_workers)
    with FakeEndpoint() as endpoint:
        sweep = started(file, endpoint.url)
        _, err = sweep.communicate(timeout=LONGEST)
    assert sweep.returncode == 2, err
    assert "a worker cannot start" in err
    assert "no councils here" in err


def test_an_experiment_continues_after_its_server_is_killed(tmp_path: Path, eventually: Eventually) -> None:
    file = write_case(tmp_path / "case", limit=f"limit_tokens = {LIMIT}", replicates=2, weathers='["sun"]')
    folder = file.with_suffix("")
    with FakeEndpoint(latency=0.05) as endpoint:
        sweep = started(file, endpoint.url, "--json")
        eventually(lambda: (folder / "done.jsonl").exists() or sweep.poll() is not None, "the first run")
        os.kill(json.loads((folder / "data" / "server.json").read_text())["pid"], signal.SIGKILL)
        out, err = sweep.communicate(timeout=LONGEST)
        answered = endpoint.stats()
    assert sweep.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["done"] == 6
    rows = rows_of(folder / "runs.csv")
    assert {(row["by_model"], row["by_heuristic"]) for row in rows} == {("9", "0")}
    assert sum(int(row["tokens"]) for row in rows) == answered.prompt_tokens + answered.completion_tokens


def test_an_experiment_with_a_silent_server_stops_at_one_signal_and_continues_later(
    tmp_path: Path, eventually: Eventually
) -> None:
    limit = f"limit_tokens = {LIMIT}\nbase.settings.outage_wait = {4 * LONGEST}"
    file = write_case(tmp_path / "case", limit=limit, replicates=2, weathers='["sun"]')
    folder = file.with_suffix("")
    with FakeEndpoint(latency=0.05) as endpoint:
        sweep = started(file, endpoint.url)
        eventually(lambda: (folder / "done.jsonl").exists() or sweep.poll() is not None, "the first run")
        server = json.loads((folder / "data" / "server.json").read_text())["pid"]
        os.kill(server, signal.SIGSTOP)
        try:
            sweep.send_signal(signal.SIGINT)
            _, err = sweep.communicate(timeout=LONGEST)
        finally:
            os.kill(server, signal.SIGCONT)
        assert sweep.returncode == 130, err
        assert "stopped while its server did not answer; run the same command to continue" in err
        assert "server.left_silent" in err
        eventually(lambda: not left_behind(folder / "data"), "the end of the server")
        last = started(file, endpoint.url, "--json")
        out, err = last.communicate(timeout=LONGEST)
    assert last.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["done"] == 6

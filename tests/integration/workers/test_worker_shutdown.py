"""A worker that is told to stop finishes its calls in flight and leaves nothing open."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory import typed_json
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.intake.observations import Observation
from cogitate.scheduler.ledger.claims import Result
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.processes.supervisor import worker_command, worker_environment
from tests.patience import LONGEST

OWNERS = {f"agent:{name.lower()}": Profile(name=name) for name in ("Ann", "Ben", "Cleo")}


def test_a_warm_shutdown_waits_for_calls_in_flight(
    valkey: EmbeddedServer, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    log = tmp_path / "worker.log"
    with FakeEndpoint() as endpoint:
        endpoint.hold()
        settings = Settings(
            data_dir=tmp_path,
            redis_url=valkey.url,
            llm="openai",
            base_url=endpoint.url,
            api_key="any",
            limit_tokens=10_000_000,
            workers=0,
            wait=0.0,
            concurrency=4,
            latency={"reflect": 50},
        )
        with TickLoop(run="town", owners=OWNERS, settings=settings, ticks=9) as loop:
            for tick in loop:
                if tick.number == 3:
                    break
                for owner in OWNERS:
                    seen = Observation(
                        text="The miller asked for the price of flour.", minute=tick.minute, importance=7
                    )
                    loop.observe(owner, seen)
                    if tick.number == 2:
                        loop.request("reflect", owner)
            # pytest turns only its own warnings into errors; a worker's appear in its log.
            environment = worker_environment(settings) | {"PYTHONWARNINGS": "always::ResourceWarning"}
            with log.open("wb") as out:
                worker = subprocess.Popen(
                    worker_command("stopped@%h"), env=environment, cwd=tmp_path, stdout=out, stderr=out
                )
            try:
                endpoint.wait_for_request(len(OWNERS))
                worker.send_signal(signal.SIGTERM)
                eventually(lambda: "Warm shutdown" in log.read_text(), "the worker to stop")
                endpoint.release()
                assert worker.wait(LONGEST) == 0
            finally:
                worker.kill()
                worker.wait()
            jobs = [item.job for item in loop.state.open.values() if item.job.key.kind == "reflect"]
            raw = [loop.ledger.client.hget(loop.ledger.store.job_key(job.key.text()), "result") for job in jobs]
    results = [typed_json.decode(each or b"", Result) for each in raw]
    assert [result.source for result in results] == ["llm"] * len(OWNERS)
    said = log.read_text()
    assert "Traceback" not in said
    assert "unclosed" not in said.lower()
    assert "never awaited" not in said

"""Jobs that wait for a model stay where every worker finds them: real Valkey, workers and HTTP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.workers.processes.embedded import EmbeddedServer
from cogitate.workers.transport.hints import ASKING, hints_key, tickets_key

MANY, FEW, PLACES = 40, 3, 2
SLOTS = PLACES + 1
TAKEN = PLACES + 2 + SLOTS + 1  # most messages that a worker takes: running, next, on their way to a slot, being read


def test_a_worker_leaves_jobs_for_which_it_has_no_place_to_other_workers(
    tmp_path: Path, eventually: Callable[..., None]
) -> None:
    """Check that a worker that starts later gets jobs at once, and that another run's jobs need not wait."""
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedServer(tmp_path / "server"))
        endpoint = stack.enter_context(FakeEndpoint())
        endpoint.hold()

        def thinking(run: str, agents: int) -> TickLoop:
            settings = Settings.tuned(
                data_dir=tmp_path / run,
                redis_url=server.url,
                workers=1,
                concurrency=PLACES,
                wait=0,
                limits={},
                llm="openai",
                base_url=endpoint.url,
                api_key="any",
                model="m",
                limit_tokens=10**9,
                rate_share=0,
                adaptive_latency=False,
                latency={"plan": 50},
                job_deadline=200,
            )
            owners = {f"agent:a{number}": Profile(name=f"A{number}") for number in range(agents)}
            loop = stack.enter_context(TickLoop(run=run, owners=owners, settings=settings, ticks=60))
            with loop.next_tick():
                for owner in owners:
                    loop.request("plan", owner)
            return loop

        large = thinking("large", MANY)
        endpoint.wait_for_request(PLACES)
        small = thinking("small", FEW)
        endpoint.wait_for_request(
            2 * PLACES
        )  # no hint is repeated meanwhile, since both hosts are in their worlds' turns
        with server.client(1) as broker:
            tickets = tickets_key("cogitate:plan", ASKING)
            assert broker.llen(hints_key(tickets, "large", 1)) >= MANY - 2 * TAKEN
        endpoint.release()
        for loop, agents in ((large, MANY), (small, FEW)):
            eventually(lambda loop=loop, agents=agents: staged(loop) == agents, "all answers")


def staged(loop: Any) -> int:
    client, store = loop.ledger.client, loop.ledger.store
    keys = [key.decode() for key in client.smembers(store.key("jobs"))]
    return sum(client.hget(store.job_key(key), "state") == b"staged" for key in keys)

"""Jobs without a model run while all jobs that call one wait for its endpoint: real Valkey, worker and HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cogitate.hosting.tick_loop import TickLoop
from cogitate.memory.profile import Profile
from cogitate.ops.fake_llm.server import FakeEndpoint
from cogitate.scheduler.config.endpoints import Endpoint
from cogitate.scheduler.config.settings import Settings
from cogitate.scheduler.inspection.audit import audit
from cogitate.scheduler.ledger.claims import Claims

Eventually = Callable[..., None]

OWNERS = {f"agent:{name}": Profile(name=name) for name in ("ann", "ben", "cid", "dora", "eve", "fay")}
RUN = "town"


def test_waiting_for_a_rate_limit_takes_no_slot_of_jobs_without_a_model(tmp_path: Path, eventually: Eventually) -> None:
    """Use two model slots, and six plans for an endpoint that takes one call per half minute."""
    with FakeEndpoint() as endpoint:
        settings = Settings.tuned(
            data_dir=tmp_path / "data",
            workers=1,
            concurrency=2,
            wait=0,
            adaptive_latency=False,
            rate_share=0,
            llm="openai",
            limit_tokens=1_000_000,
            limits={},
            latency={"plan": 50, "prune": 50},
            job_deadline=200,
            endpoints={"slow": Endpoint(base_url=endpoint.url, api_key="any", requests_per_minute=2, burst=0)},
            models={"m": {"endpoint": "slow", "model": "m"}},
            tiers={"routine": "m"},
        )
        with TickLoop(run=RUN, owners=OWNERS, settings=settings, ticks=60) as loop:
            client, store = loop.ledger.client, loop.ledger.store

            def jobs(kind: str) -> Counter[str]:
                """Count the open jobs of a kind by state; "running" is a job with a worker."""
                found: Counter[str] = Counter()
                for key in client.smembers(store.key("jobs")):
                    if key.split(b"/")[1].decode() == kind:
                        state, token = client.hmget(store.job_key(key.decode()), "state", "token")
                        found["running" if token else state.decode()] += 1
                return found

            for tick in loop:
                match tick.number:
                    case 1:
                        for owner in OWNERS:
                            loop.request("plan", owner)
                    case 2:
                        eventually(lambda: jobs("plan") == {"staged": 1, "running": 2, "open": 3}, "all places taken")
                        for owner in OWNERS:
                            loop.request("prune", owner)
                    case 3:
                        eventually(lambda: jobs("prune") == {"staged": 6}, "the jobs without a model to be done")
                        assert jobs("plan") == {"staged": 1, "running": 2, "open": 3}, (
                            "all model slots were taken meanwhile"
                        )
                        asks = Claims(client, worker="me").asks_model
                        assert asks(f"{RUN}/1/plan/agent:ann/0/0")
                        assert not asks(f"{RUN}/2/prune/agent:ann/0/0")
                        assert not asks(f"{RUN}/1/plan/agent:nobody/0/0")
                        break
            assert audit(client, RUN) == []

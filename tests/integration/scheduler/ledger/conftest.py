"""A run for the tests of single scripts."""

from __future__ import annotations

import pytest
from redis import Redis

from tests.integration.scheduler.ledger.script_case import INCARNATION, JOB, NONCE, RUN, STATE


@pytest.fixture
def run(client: Redis) -> Redis:
    """Write a run at tick 6 with an open, unclaimed job, whose host's last step was the fourth; return its client."""
    client.set(INCARNATION, NONCE)
    state = {
        "epoch": 1,
        "holder": "h",
        "seq": 4,
        "step": "old",
        "tick": 6,
        "status": "running",
        "schema": 3,
        "settings": '{"claim_cap":3}',
    }
    client.hset(STATE, mapping=state)
    client.hset(f"{RUN}job:k", mapping=JOB)
    client.sadd(f"{RUN}jobs", "k")
    client.sadd(f"{RUN}unclaimed", "k")
    client.sadd(f"{RUN}due:9", "k")
    client.hset(f"{RUN}waiting", "9", 2)
    client.hset(f"{RUN}open", "6", 1)
    client.hset(f"{RUN}window:day", mapping={"run|calls|reserved": 1, "run|tokens|reserved": 100})
    client.hset(f"{RUN}owners", "a", "profile")
    return client

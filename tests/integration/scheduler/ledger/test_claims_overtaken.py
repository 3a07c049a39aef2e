"""Claims whose inputs vanish or cannot be read: the job is returned and no attempt is held."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.integration.scheduler.ledger.ledger_case import OWNER, Host, claimed, worker


def test_a_job_with_missing_facts_is_returned_and_its_facts_are_reread(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    key = host.ledger.store.key("facts")
    kept = client.hgetall(key)
    client.delete(key)
    assert claims.claim(job.id) == "closed"
    assert client.hlen(host.ledger.store.key("attempts")) == 0
    client.hset(key, mapping=kept)
    assert claimed(claims, job).case.world.clock.seconds_per_tick == 3600, "the run's facts, not the defaults"


def test_a_claim_whose_facts_cannot_be_read_now_is_given_back_later(client: Redis) -> None:
    host = Host(client)
    (job,) = host.turn(("think", OWNER))
    claims = worker(client)
    with (
        patch.object(client, "hget", side_effect=RedisConnectionError),
        pytest.raises(RedisConnectionError),
    ):
        claims.claim(job.id)
    assert client.hlen(host.ledger.store.key("attempts")) == 1
    assert claimed(claims, job).number == 2
    assert client.hlen(host.ledger.store.key("attempts")) == 1

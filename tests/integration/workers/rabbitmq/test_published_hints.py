"""Hints as the publisher sends them to RabbitMQ: their contents, queues and lanes."""

from __future__ import annotations

import pytest

from cogitate import Settings
from cogitate.tasks.registry import kind_names
from cogitate.workers.publish import Publisher
from cogitate.workers.transport import amqp_transport
from cogitate.workers.transport.hints import check_hint
from cogitate.workers.transport.lanes import BURST, queue_of, queues_of
from tests.integration.workers.rabbitmq.rabbitmq_case import LANE, await_confirms, job, publish, taken
from tests.rabbitmq import RabbitMQ

pytestmark = pytest.mark.system


@pytest.mark.parametrize("owner", ["agent:isabella", 'group:"50 % off" é日本', f"location:{'x' * 300}"])
def test_a_published_hint_is_valid_for_a_worker(settings: Settings, rabbitmq: RabbitMQ, owner: str) -> None:
    for kind in kind_names():
        hinted = job(kind, owner)
        publish(settings, [hinted])
        (message,) = taken(rabbitmq, queue_of(kind, LANE["now"]))
        assert check_hint(amqp_transport._envelope(message), kind) == hinted.id
        assert message.properties["delivery_mode"] == 2
        assert message.properties["application_headers"]["argsrepr"].endswith("≤ 1 call · ≤ 1800 tokens")


def test_queues_are_quorum_queues_whose_messages_expire(settings: Settings, rabbitmq: RabbitMQ) -> None:
    publish(settings, [job()])
    declared = {one["name"]: one for one in rabbitmq.ask("queues")}
    assert declared.keys() == {name for kind in kind_names() for name in queues_of(kind)}
    for queue in declared.values():
        assert queue["arguments"] == {"x-queue-type": "quorum", "x-message-ttl": 86_400_000}
        assert queue["durable"]


def test_a_hint_takes_the_lane_of_its_due_tick(settings: Settings, rabbitmq: RabbitMQ) -> None:
    jobs = [
        job(owner=f"agent:{left}-{model}", due=420 + left, model=model)
        for left in (64, 1, 8, 9, 65, 1000)
        for model in ("any", "")
    ]
    publish(settings, jobs)
    found = {
        lane.name: [message.properties["application_headers"]["id"] for message in taken(rabbitmq, name)]
        for name, lane in queues_of("plan").items()
    }
    owners = {name: [one.split("/")[3].removeprefix("agent:") for one in ids] for name, ids in found.items()}
    assert owners["now"] == ["1-any", "8-any"]
    assert owners["soon"] == ["9-any", "64-any"]
    assert owners["later"] == ["65-any", "1000-any"]
    assert owners["quick"] == ["1-", "8-", "9-", "64-", "65-", "1000-"]
    assert owners["quick-later"] == []


def test_a_repeated_hint_takes_the_lane_of_the_time_that_is_left(settings: Settings, rabbitmq: RabbitMQ) -> None:
    publisher = Publisher(settings)
    waiting = job(due=520)
    for published in ([waiting], [job("reflect", tick=515, due=1000)], [waiting]):
        publisher.publish(published)
        await_confirms(publisher)
    publisher.close()
    assert len(taken(rabbitmq, queue_of("plan", LANE["later"]))) == 1
    assert len(taken(rabbitmq, queue_of("plan", LANE["now"]))) == 1


@pytest.mark.parametrize("share", [1, 3])
def test_a_burst_puts_only_the_jobs_due_first_into_the_lane_now(
    settings: Settings, rabbitmq: RabbitMQ, share: int
) -> None:
    jobs = [job(owner=f"agent:{number}", due=428 - number // 100) for number in range(300)]
    publish(settings.changed(worker_share=share), jobs)
    first = taken(rabbitmq, queue_of("plan", LANE["now"]))
    assert len(first) == BURST * share
    assert first[0].properties["application_headers"]["id"] == jobs[200].id
    assert len(taken(rabbitmq, queue_of("plan", LANE["later"]))) == 300 - BURST * share

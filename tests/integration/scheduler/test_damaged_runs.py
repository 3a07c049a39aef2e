"""`cogitate runs` lists every readable run beside one that cannot be read."""

from __future__ import annotations

import json

import pytest
from redis import Redis

from cogitate import Profile, Settings, TickLoop
from cogitate.ops.commands.runs import show_runs
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.workers.processes.embedded import EmbeddedServer


@pytest.mark.parametrize("harm", ["its state", "its journal"])
def test_an_unreadable_run_is_named_beside_the_readable_ones(
    valkey: EmbeddedServer, capsys: pytest.CaptureFixture[str], harm: str
) -> None:
    with valkey.client() as client:
        for run in ("bad", "good"):
            with TickLoop(
                run=run,
                owners={"agent:ada": Profile(name="Ada")},
                settings=Settings(),
                ticks=3,
                inline=True,
                client=client,
            ) as loop:
                assert len([*loop]) == 3
        damage(client, harm)
        show_runs(client, Settings(), as_json=True)
    told = capsys.readouterr()
    good, bad = json.loads(told.out)["runs"]
    assert (good["run"], good["tick"]) == ("good", 3)
    assert (bad["run"], bad["status"]) == ("bad", "unreadable")
    assert bad["why"] in told.err.replace("\n", " ")


def damage(client: Redis, harm: str) -> None:
    store = RunStore.open(client, "bad")
    if harm == "its state":
        client.hset(store.key("state"), "schema", "one")
    else:
        client.delete(store.key("journal"))

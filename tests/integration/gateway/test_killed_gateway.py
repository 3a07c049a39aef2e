"""A gateway killed at each moment of a tick and restarted: nothing is lost and nothing happens twice."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest

from tests.conftest import Eventually
from tests.gateway_client import Client
from tests.integration.command import left_behind, summary
from tests.integration.gateway.gateway_process import gateway
from tests.patience import LONGEST

AT, LAST = 4, 8
ADA = "agent:ada"
OPEN = {"owners": {ADA: {"name": "Ada Smith"}}, "ticks": LAST, "settings": {"morning": 2}}


def turn(number: int) -> dict[str, object]:
    """Return the turn of a tick, in which Ada perceives a bell."""
    return {"observations": [{"owner": ADA, "text": f"The bell struck {number} times.", "importance": 3}]}


def lived(client: Client, first: int, last: int) -> list[object]:
    """Post the turns of a range of ticks, and return their answers."""
    return [client.answer(f"/runs/v/ticks/{number}", turn(number)) for number in range(first, last + 1)]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Return the answers of a gateway that is not killed."""
    data_dir = tmp_path_factory.mktemp("straight") / "data"
    with gateway(data_dir) as (client, _):
        client.answer("/runs/v/open", OPEN)
        return lived(client, 1, LAST)


@pytest.mark.parametrize("moment", ["turn", "committed", "answer"])
def test_a_turn_repeated_after_a_kill_ends_as_without_the_kill(
    tmp_path: Path, straight: list[object], eventually: Eventually, moment: str
) -> None:
    data_dir = tmp_path / "data"
    with gateway(data_dir, dies=(moment, AT)) as (client, process):
        client.answer("/runs/v/open", OPEN)
        assert lived(client, 1, AT - 1) == straight[: AT - 1]
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            client.tick("v", AT, turn(AT))
        assert process.wait(LONGEST) == -9
    with gateway(data_dir) as (client, _):
        assert client.tick("v", AT, turn(AT)).body["code"] == "not_open"
        stand = client.answer("/runs/v/open", {**OPEN, "exist": "resume"})
        assert stand["tick"] == (AT if moment in ("committed", "answer") else AT - 1)
        if stand["tick"] == AT:
            refused = client.tick("v", AT, {"leaves": [ADA]})
            assert (refused.status, refused.body["expected_tick"]) == (409, AT + 1)
        assert lived(client, AT - 1, LAST) == straight[AT - 2 :]
        found = client.answer("/runs/v/memory", {"read": "recent", "owner": ADA, "limit": 100})["found"]
        assert [one["text"] for one in found if one["type"] == "observation"] == [
            f"The bell struck {number} times." for number in range(1, LAST + 1)
        ]
    assert summary("audit", "v", data_dir=data_dir)
    eventually(lambda: not left_behind(data_dir), "the guard of the killed process to end")


def test_reopening_after_a_lost_reply_creates_the_run_once(
    tmp_path: Path, straight: list[object], eventually: Eventually
) -> None:
    data_dir = tmp_path / "data"
    with gateway(data_dir, dies=("opened", 0)) as (client, process):
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            client.post("/runs/v/open", OPEN)
        assert process.wait(LONGEST) == -9
    with gateway(data_dir, token="a-token-that-is-long") as (client, _):
        assert Client(client.url).post("/runs/v/open", OPEN).status == 401
        assert client.answer("/runs/v/open", OPEN)["tick"] == 0
        assert client.answer("/runs/v/open", OPEN)["tick"] == 0
        assert client.post("/runs/v/open", {**OPEN, "ticks": 9}).body["code"] == "run_exists"
        assert lived(client, 1, LAST) == straight
        assert client.post("/runs/v/open", OPEN).body["code"] == "run_exists"
    eventually(lambda: not left_behind(data_dir), "the guard of the killed process to end")

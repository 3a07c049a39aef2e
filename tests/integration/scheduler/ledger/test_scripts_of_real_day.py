"""The script that reserves and settles the spending of a real day."""

from __future__ import annotations

from redis import Redis

from tests.integration.scheduler.ledger.script_case import DAY, of_day, real_day


def test_a_real_day_admits_up_to_its_limits(client: Redis) -> None:
    limits = (100, 50, 900)
    assert real_day(client, "reserve", "a", 60, 20, *limits) == "reserved"
    assert real_day(client, "reserve", "a", 60, 20, *limits) == "reserved", "a repeated step"
    assert of_day(client) == {"reserved:tokens": "60", "reserved:usd_micros": "20", "call:a": "60,20"}
    assert 0 < client.ttl(DAY) <= 900
    assert real_day(client, "reserve", "b", 41, 0, *limits) == "refused"
    assert real_day(client, "reserve", "b", 0, 31, *limits) == "refused"
    assert real_day(client, "reserve", "b", 40, 30, *limits) == "reserved"
    assert (of_day(client)["refused"], of_day(client)["reserved:tokens"]) == ("2", "100")
    assert real_day(client, "settle", "a", 70, 5) == "settled"
    assert real_day(client, "settle", "a", 70, 5) == "unknown"
    assert of_day(client) == {
        "reserved:tokens": "40",
        "reserved:usd_micros": "30",
        "spent:tokens": "70",
        "spent:usd_micros": "5",
        "overrun:tokens": "10",
        "refused": "2",
        "call:b": "40,30",
    }
    assert real_day(client, "reserve", "c", 1, 0, *limits) == "refused", "spending counts"
    assert real_day(client, "reserve", "c", 1, 0, "", "", 900) == "reserved", "no limit"


def test_a_refusal_alone_creates_an_account_that_expires(client: Redis) -> None:
    assert real_day(client, "reserve", "a", 2, 0, 1, "", 900) == "refused"
    assert of_day(client) == {"refused": "1"}
    assert 0 < client.ttl(DAY) <= 900

"""Promises and appointments are planned once, at their time, and not after it."""

from __future__ import annotations

from typing import Any

import pytest

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from tests.unit.tasks.kind_cases import KLAUS, MARIA, observation, stream_of
from tests.unit.tasks.plan.plan_case import made


def planned(start: int, *entries: Entry, **case: Any) -> list[tuple[int, str]]:
    """The time and words of each item that the heuristic plans."""
    plan = made(stream_of(*entries), start, profile=Profile(name="Klaus Mueller"), **case)
    return [(item.minute or 0, item.description) for item in plan.items]


def noted(text: str, minute: int = 600) -> Entry:
    return observation(text, minute, subjects=(KLAUS, MARIA))


KNIVES = "I promised Maria Lopez to sharpen her knives"
KEEP_KNIVES = "Keep the promise to Maria Lopez: sharpen her knives"


@pytest.mark.parametrize("when", ["today at 6:30 PM", "today", "on day 1 at 6:30 PM", "tomorrow at 5 AM", "at 6 PM"])
def test_a_promise_whose_time_is_over_is_not_planned(when: str) -> None:
    assert all("knives" not in text for _, text in planned(DAY + 360, noted(f"{KNIVES} {when}.")))


def test_a_promise_for_an_hour_of_this_day_is_planned_then_and_once() -> None:
    bring = noted("I promised Maria Lopez to bring her ten ropes tomorrow at 9 AM.")
    text = "Keep the promise to Maria Lopez: bring her ten ropes on day 2 at 9 AM"
    assert planned(DAY + 360, bring) == [(DAY + 540, text)]
    left = {"unfinished": [{"description": text}]}
    assert all("ropes" not in text for _, text in planned(2 * DAY + 360, bring, params=left))


def test_a_promise_for_a_later_day_waits_and_one_with_a_term_does_not() -> None:
    assert all("knives" not in text for _, text in planned(DAY + 360, noted(f"{KNIVES} on day 3.")))
    assert (2 * DAY + 630, f"{KEEP_KNIVES} on day 3") in planned(2 * DAY + 360, noted(f"{KNIVES} on day 3."))
    assert (DAY + 630, f"{KEEP_KNIVES} by day 3") in planned(DAY + 360, noted(f"{KNIVES} by day 3."))


def test_an_appointment_that_is_over_is_not_taken_up_again() -> None:
    meeting = noted("There is a meeting on day 2 at 6 PM.")
    assert (DAY + 1_080, "There is a meeting today at 6 PM") in planned(DAY + 360, meeting)
    left = {
        "unfinished": [
            {"description": "There is a meeting today at 6 PM"},
            {"description": "Attend the vote on day 2 at 6 PM"},
            {"description": "Mend the gate"},
        ]
    }
    again = [text for _, text in planned(2 * DAY + 360, meeting, params=left) if "again" in text]
    assert again == ["Take up again: Mend the gate"]


def test_an_item_that_calls_an_earlier_day_today_is_not_taken_up_again() -> None:
    left = {"unfinished": [{"description": "Der Zug kommt heute um neun"}, {"description": "Das Tor reparieren"}]}
    talk = noted("Wir haben gestern lange über das Wetter und die Ernte gesprochen.")
    again = [text for _, text in planned(2 * DAY + 360, talk, params=left) if "Zug" in text or "Tor" in text]
    assert again == ["Wieder aufnehmen: Das Tor reparieren"]


def test_a_quotation_in_a_note_is_planned_with_the_day_of_the_note() -> None:
    said = 'I told Maria Lopez: "I will bring you the ten ropes tomorrow at 9 AM."'
    assert (DAY + 540, f"{said} (day 1)") in planned(DAY + 360, noted(said))
    said = 'I told Maria Lopez: "I promise: I will bring you the ten ropes tomorrow at 9 AM."'
    assert [text for _, text in planned(DAY + 360, noted(said)) if "ropes" in text] == [f"{said} (day 1)"]
    party = 'Maria Lopez said: "The party begins tomorrow at 5 PM."'
    assert (DAY + 1_020, f"{party} (day 1)") in planned(DAY + 360, noted(party))

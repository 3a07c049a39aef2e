"""A pack says once what all its cases say, and holds the very prompts of its cases."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from cogitate.tasks.kind import Prompt
from cogitate.workers.jobs.packs.prompt import Passages, cases_in, in_full, packed, texts_of
from tests.unit.tasks.own_kind_case import Said

NAMES = ("Ada Lane", "Ben Moor", "Cleo Day")
HEARD = "- [day 2, 9:02 AM] Dan Hill: I have hidden the letter."


def pack_of(users: Sequence[str]) -> str:
    return packed([Prompt(system="Hum.", user=user, answer=Said, version="1") for user in users], "seed").prompt.user


def user_of(name: str, *memories: str) -> str:
    lines = [f"You hum for {name}, 30 years old.", "It is day 2, 9:30 AM.", "<memories>", *memories, "</memories>"]
    return "\n".join(["Places:\n- Mill\n", *lines, "Write in Welsh.", f"What does {name} hum?"])


def test_a_pack_has_each_common_line_once() -> None:
    user = pack_of([user_of(name, f"- [day 2, 9:01 AM] {name} hums.") for name in NAMES])
    for line in ("It is day 2, 9:30 AM.", "Write in Welsh.", "What does @ hum?"):
        assert user.count(f"\n{line}\n") == 1
        assert user.index(line) < user.index("<case-")


def test_a_memory_stays_in_its_case_even_if_all_have_it() -> None:
    user, heard = pack_of([user_of(name, HEARD) for name in NAMES]), HEARD.removeprefix("- ")
    assert user[user.index("<case-") :].count(heard) == user.count(heard) == len(NAMES)


def test_a_repeated_date_is_written_once() -> None:
    dated = ("- [day 1, 8:00 PM] Rain.", "- [day 2, 7:00 AM] Fog.", "- [day 2, 8:00 AM] Sun.", "- [known] Tides.")
    user = pack_of([user_of(name, *dated, HEARD) for name in NAMES])
    assert "\n[day 2, 7:00 AM] Fog.\n[8:00] Sun.\n[known] Tides.\n[day 2, 9:02 AM] Dan" in user


def test_a_repeated_half_of_the_day_is_written_once() -> None:
    timed = (
        "- [day 1, 11:58 AM] Rain.",
        "- [day 1, 11:59 AM] Fog.",
        "- [day 1, 12:00 PM] Sun.",
        "- [day 2, 1:00 PM] Ice.",
    )
    users = [user_of(name, *timed) for name in NAMES]
    assert "\n[day 1, 11:58 AM] Rain.\n[11:59] Fog.\n[12:00 PM] Sun.\n[day 2, 1:00] Ice.\n" in pack_of(users)
    assert [text for *_, text in cases_in("", pack_of(users))] == users


def test_a_character_is_named_in_the_first_line_of_its_case_alone() -> None:
    users = [user_of(name, f"- [day 2, 9:01 AM] {name}: I am {name}, not {name}son.") for name in NAMES]
    user = pack_of(users)
    for name in NAMES:
        assert user.count(f"You hum for {name}, 30 years old.\n<memories>\n") == 1
        assert user.count(f"@: I am @, not {name}son.") == 1
        assert len(re.findall(rf"{name}\b", user)) == 1
    assert [text for *_, text in cases_in("", user)] == users
    assert in_full(["@ and I.", "a@b.org", "@"], texts_of(user)[1]) == [f"{NAMES[1]} and I.", "a@b.org", NAMES[1]]


def acting(name: str, *actions: str) -> str:
    lines = [f"You hum for {name}, 30 years old.", "Routine:", "- 7:00 PM: Dinner at home", f"Work: {name[0]}"]
    situation = ["<situation>", f"Available actions: {'; '.join(actions)}", "</situation>"]
    return "\n".join([*lines, *situation, "<memories>", HEARD, "</memories>", f"What does {name} hum?"])


def test_a_repeated_list_item_is_written_once_and_numbered() -> None:
    users = [
        acting("Ada Lane", "having tea at the mill", "mending nets at home", "rest"),
        acting("Ben Moor", "rest", "having tea at the mill"),
        acting("Cleo Day", "rest", "counting the boats"),
    ]
    user = pack_of(users)
    assert "<listed>\n#1 7:00 PM: Dinner at home\n#2 having tea at the mill\n</listed>\n" in user
    assert user.count("having tea") == user.count("7:00 PM: Dinner") == 1
    assert user.count("\n- #1\n") == len(users)
    assert "\nAvailable actions: #2; #3 mending nets at home; rest\n" in user
    assert "\nAvailable actions: rest; #4 counting the boats\n" in user
    assert user.count(HEARD.removeprefix("- ")) == len(users), "a memory stays in its case"
    assert texts_of(user)[1:] == [
        {"@": "Ben Moor", "#1": "7:00 PM: Dinner at home", "#2": "having tea at the mill"},
        {"@": "Cleo Day", "#1": "7:00 PM: Dinner at home", "#4": "counting the boats"},
    ]
    assert [text for *_, text in cases_in("", user)] == users


def test_a_number_in_an_answer_means_the_text_only_if_the_case_has_it() -> None:
    texts = {"#2": "having tea at the mill"}
    answer = {
        "doing": "#2 having tea at the mill",
        "steps": [{"text": " #2 "}, {"text": "#3"}, {"text": "#2 again"}],
        "done": True,
    }
    assert in_full(answer, texts) == {
        "doing": texts["#2"],
        "steps": [{"text": texts["#2"]}, {"text": "#3"}, {"text": "#2 again"}],
        "done": True,
    }


DATED = (
    "- [day 1, 9:02 AM] Rain.",
    "- [day 1, 9:03 AM] Rain.",
    "- [day 2, 1:00 AM] Fog.",
    "- [9:04 AM] Sun.",
    "- [3] Ice.",
)
ODD = (
    "- [3] Ice.",
    "- [known] Tides.",
    "<memories>",
    "</memories>",
    "",
    "…",
    "@",
    "@ hums with Ada, a@b.org and @Ada.",
    "- [day 1, 9:05 PM] Ada: I am Ada.",
    "- [day 1, 9:06 PM] @: I am Ben.",
    "- [9:07 PM] Wind.",
    "<each-000000>",
    "<listed>",
    "</listed>",
    "#1 mending the nets",
    "- #1",
    "[day 3] Hail.",
    "[known] Tides.",
    "- mending the nets",
    "Available actions: #1; mending the nets; counting the boats",
    "Available actions: #3 mending the nets; counting the boats",
    "Available actions: counting the boats; mending the nets; #2",
    "Ada",
    "Ben",
    "What does @ hum?",
)
USUAL = ("It is day 1.", "What does Ada hum?", "You hum for Ada, 3.", "You hum for Ben.")
LINES = st.sampled_from([*DATED, *ODD, *USUAL])
TEXTS = st.lists(LINES, min_size=1, max_size=12).map("\n".join)


@given(st.lists(TEXTS, min_size=2, max_size=4))
def test_cases_in_inverts_packing(users: list[str]) -> None:
    assert [text for *_, text in cases_in("", pack_of(users))] == users


def test_a_text_that_is_listed_once_still_belongs_to_the_cases_that_have_it() -> None:
    secret = "meeting the others under the third arch of the bridge"
    lists = ((secret, "rest"), (secret,), ("rest", "counting the boats"))
    users = [acting(name, *actions) for name, actions in zip(NAMES, lists, strict=True)]
    pack = packed([Prompt(system="Hum.", user=user, answer=Said, version="1") for user in users], "seed")
    assert pack.prompt.user.count(secret) == 1
    passages = Passages(pack, "Hum.", ())
    assert [passages.are_foreign(index, {"text": secret}) for index in range(3)] == [False, False, True]

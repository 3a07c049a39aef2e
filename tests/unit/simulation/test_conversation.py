"""Conversations of the town: both sides remember them, and saying something changes what comes after."""

from __future__ import annotations

import re

import msgspec
import pytest

from cogitate.memory import typed_json
from cogitate.memory.entry import Entry
from cogitate.simulation.town import conversation, topics
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.town.phrases import PHRASES, for_me, for_other
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import Body, News, Promise, State, Talk
from cogitate.simulation.town.topics import Pair
from cogitate.simulation.town.town import Town

DAY = 1440
NOON = 720


def stage(agents: int = 4, seed: int = 0) -> tuple[Setting, State]:
    setting = Setting(seed, agents)
    bodies = {owner: Body(x=0, y=0, place="plaza", condition="idle") for owner in setting.people}
    return setting, State(seed=seed, agents=agents, minute=NOON, bodies=bodies)


def pair_of(setting: Setting, state: State, salt: int = 0, minute: int = NOON) -> Pair:
    me, you = list(setting.people.values())[:2]
    return Pair(me, you, "plaza", setting, state, minute, Chance("test", salt))


@pytest.fixture(scope="module")
def three_days() -> list[tuple[str, Entry]]:
    town = Town(agents=12, seed=3)
    return [seen for tick in range(3 * DAY) for seen in town.step(tick, tick)]


def test_both_sides_remember_every_line_in_order(three_days: list[tuple[str, Entry]]) -> None:
    heard: dict[str, dict[str, list[Entry]]] = {}
    for owner, entry in three_days:
        if entry.type == "message":
            heard.setdefault(entry.source_id, {}).setdefault(owner, []).append(entry)
    assert len(heard) > 20
    for sides in heard.values():
        first, second = sides.values()
        assert first == second
        assert set(first[0].subjects) == set(sides)
        assert first[0].source == "dialogue"
        minutes = [entry.minute for entry in first]
        assert minutes == list(range(minutes[0], minutes[0] + len(minutes)))
        assert 4 <= len(first) <= 14


def test_conversations_are_varied(three_days: list[tuple[str, Entry]]) -> None:
    lines = [entry.text.split(": ", 1)[1] for _, entry in three_days if entry.type == "message"]
    assert len(set(lines)) > len(lines) / 6
    for sign in ("I promise", "Shall we", "Will you come", "I will be at", "what do you think of", "Have you heard"):
        assert any(sign in line for line in lines), sign
    assert not any("{" in line for line in lines)


def test_invitations_spread_and_bring_people_together(three_days: list[tuple[str, Entry]]) -> None:
    told = {entry.text for _, entry in three_days if "Are you coming too?" in entry.text}
    met = [entry for _, entry in three_days if "has begun; here are" in entry.text]
    assert told
    assert any(len(entry.subjects) >= 4 for entry in met)


def test_no_agent_is_in_two_conversations() -> None:
    town = Town(agents=12, seed=2)
    for tick in range(DAY):
        town.step(tick, tick)
        if tick < 360 or tick % 3:
            continue
        state = typed_json.decode(town.dump(), State)
        busy = [owner for talk in state.talks.values() for owner in talk.people]
        assert len(busy) == len(set(busy))
        assert all((body.talk in state.talks) == bool(body.talk) for body in state.bodies.values())


def test_a_script_has_four_to_fourteen_lines() -> None:
    setting, state = stage()
    for salt in range(300):
        lines = conversation.script(pair_of(setting, state, salt))
        assert 4 <= len(lines) <= conversation.MAX_LINES
        assert all(1 <= line.importance <= 10 and line.text.strip() for line in lines)


def test_news_is_told_once_and_then_known() -> None:
    setting, state = stage()
    pair = pair_of(setting, state)
    state.news["n1"] = News(id="n1", text="The fountain burst.", importance=6, minute=700, place="plaza")
    conversation.learn(state.bodies[pair.me.owner], "n1")
    assert topics.news(pair.turned()) == []
    talk = Talk(id="t", people=[pair.me.owner, pair.you.owner], place="plaza", lines=topics.news(pair))
    while talk.lines:
        conversation.say(setting, state, talk, NOON)
    assert state.bodies[pair.you.owner].news == ["n1"]
    assert topics.news(pair) == []


def test_an_agreement_becomes_an_appointment_with_place_and_time() -> None:
    setting, state = stage()
    lines = next(ls for salt in range(50) if len(ls := topics.meeting(pair_of(setting, state, salt))) and ls[1].agrees)
    talk = Talk(id="t", people=list(state.bodies)[:2], place="plaza", lines=list(lines))
    while talk.lines:
        conversation.say(setting, state, talk, NOON)
    (appointment,) = state.appointments.values()
    assert list(appointment.people) == talk.people
    assert appointment.minute > NOON
    assert setting.where(appointment.place) in lines[0].text
    assert topics.when(appointment.minute, NOON) in lines[1].text
    assert all(
        abs(again[1].agrees.minute - appointment.minute) >= 90
        for salt in range(50)
        if (again := topics.meeting(pair_of(setting, state, salt))) and again[1].agrees
    )


def test_a_promise_is_made_then_kept_or_broken_once() -> None:
    setting, state = stage()
    pair = pair_of(setting, state)
    owners = [pair.me.owner, pair.you.owner]
    talk = Talk(id="t", people=owners, place="plaza", lines=topics.favour(pair))
    while talk.lines:
        conversation.say(setting, state, talk, NOON)
    assert [(p.giver, p.taker) for p in state.promises] == [(owners[1], owners[0])]
    assert topics.favour(pair_of(setting, state, minute=NOON + 60)) == []
    outcomes = set()
    for salt in range(30):
        lines = topics.favour(pair_of(setting, state, salt, NOON + 600))
        outcomes.add(lines[1].warmth > 0)
        assert lines[1].keeps
    assert outcomes == {True, False}
    talk.lines = lines
    while talk.lines:
        conversation.say(setting, state, talk, NOON + 600)
    assert state.promises == []


@pytest.mark.parametrize(("favour", "done"), [*PHRASES.favours, *PHRASES.favours_of_neighbours])
def test_favours_read_well_from_every_side(favour: str, done: str) -> None:
    assert not re.search(r"\byour?\b", for_me(favour) + for_other(favour, "Klára"))
    assert "Klára" in for_other(favour, "Klára")
    assert re.search(r"\byour?\b", done)


def test_an_invitation_to_a_started_event_does_not_hide_other_news() -> None:
    setting, state = stage()
    pair = pair_of(setting, state)
    past = News(id="e", text="", importance=7, minute=NOON - 60, place="pub", host=list(state.bodies)[3], what="a quiz")
    state.news |= {"e": past, "n": News(id="n", text="It burst.", importance=4, minute=700, place="plaza")}
    for news_id in state.news:
        conversation.learn(state.bodies[pair.me.owner], news_id)
    assert topics.news(pair)[0].tells == "n"


def test_promises_to_others_stay() -> None:
    setting, state = stage()
    pair = pair_of(setting, state)
    others = list(state.bodies)[2:]
    kept = Promise(giver=others[0], taker=others[1], thing="post a parcel", done="posted it", minute=0)
    state.promises.append(kept)
    talk = Talk(id="t", people=[pair.me.owner, pair.you.owner], place="plaza", lines=topics.favour(pair))
    while talk.lines:
        conversation.say(setting, state, talk, NOON)
    assert kept in state.promises


def test_sleeping_walking_and_hungry_agents_are_left_alone() -> None:
    idle = Body(x=0, y=0, place="plaza", condition="idle")
    assert conversation.may_talk(idle, NOON)
    for change in ({"condition": "sleeping"}, {"condition": "walking"}, {"need": "food"}, {"quiet_until": NOON + 1}):
        assert not conversation.may_talk(msgspec.structs.replace(idle, **change), NOON)


def of_one_home(setting: Setting, state: State, salt: int, apart: bool = False) -> Pair:
    me, *others = setting.people.values()
    you = next(other for other in others if (other.profile.home != me.profile.home) == apart)
    for one, other in ((me, you), (you, me)):
        state.bodies[one.owner].talked[other.owner] = 0
    return Pair(me, you, me.profile.home, setting, state, NOON, Chance("test", salt))


def test_housemates_talk_like_housemates() -> None:
    setting, state = stage()
    elsewhere = ("regards at home", "My neighbour", "in my kitchen", "garden gate", "seat free", "see you soon")

    def said(apart: bool) -> str:
        scripts = (conversation.script(of_one_home(setting, state, salt, apart)) for salt in range(300))
        return " ".join(line.text for lines in scripts for line in lines).lower()

    together, apart = said(apart=False), said(apart=True)
    assert not [words for words in elsewhere if words.lower() in together]
    assert not [words for words in elsewhere if words.lower() not in apart]


def test_how_are_you_is_answered_and_asked_back() -> None:
    setting, state = stage()
    asked = 0
    for salt in range(300):
        lines = conversation.script(of_one_home(setting, state, salt, apart=True))
        said = [line.text for line in lines]
        if said[1].endswith("And you?"):
            asked += 1
            assert lines[2].speaker == lines[0].speaker
            assert said[2] in {feeling for _, options in PHRASES.feelings for feeling in options}
            assert not {opening for opening, _ in PHRASES.of_sleep} & set(said)
    assert asked


def test_no_invitation_is_made_at_night(three_days: list[tuple[str, Entry]]) -> None:
    invited = [entry for _, entry in three_days if " invited me to " in entry.text]
    assert any(entry.minute > DAY for entry in invited)
    assert all(420 <= entry.minute % DAY < 1320 for entry in invited if "has invited" not in entry.text)

"""Plans of worlds that are no small town: what a host declares, and nothing that it did not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from cogitate import Location, Observation, Profile, TickLoop
from cogitate.effects import Tell
from cogitate.memory.errors import InputError
from cogitate.scheduler.config.settings import PinnedSettings

Loops = Callable[..., TickLoop]
STATION = {
    "world": Profile(name="Kepler Station", routine=("08:00–20:00 shift @module-b", "20:00 recharge @dock")),
    "group:night": Profile(name="The night crew", routine="20:00–08:00 watch @bridge; 08:00 recharge @dock"),
    "agent:r7": Profile(name="R7"),
    "agent:k2": Profile(name="K2", group="group:night"),
    "agent:x1": Profile(name="X1", group="group:night", routine="9:00 survey @hull"),
}
DECKS = [
    Location(id="module-b", name="Module B", type="module"),
    Location(id="dock", name="Charging dock", type="dock"),
    Location(id="bridge", name="Bridge"),
    Location(id="hull", name="Hull"),
]


def plans(loop: TickLoop, seen: Mapping[str, str] | None = None) -> dict[str, list[tuple[str, str | None]]]:
    """The first plan of each agent: what and where, after an important observation at 3 o'clock."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    for tick in loop:
        if tick.minute == 180:
            for owner, text in (seen or {}).items():
                loop.observe(owner, Observation(text=text, importance=8))
        for change in tick.applied:
            if change.kind == "plan" and change.entry:
                found.setdefault(change.owner, [(item.description, item.location) for item in change.entry.items])
    return found


def test_robots_of_a_station_follow_their_own_routine_or_their_crew_s_or_the_station_s(cogitate_loop: Loops) -> None:
    loop = cogitate_loop(owners=STATION, locations=DECKS, ticks=370)
    assert plans(loop, {"agent:r7": "Oxygen in module B fell below 18 percent."}) == {
        "agent:r7": [
            ("Needs attention: Oxygen in module B fell below 18 percent", None),
            ("shift", "module-b"),
            ("recharge", "dock"),
        ],
        "agent:k2": [("watch", "bridge"), ("recharge", "dock"), ("watch", "bridge")],
        "agent:x1": [("survey", "hull")],
    }


def test_agents_plan_in_their_own_language_or_their_group_s_or_the_world_s(cogitate_loop: Loops) -> None:
    owners = {
        "world": Profile(name="Station", language="fr"),
        "group:night": Profile(name="Nacht", language="de"),
        "agent:a": Profile(name="A"),
        "agent:b": Profile(name="B", group="group:night"),
        "agent:c": Profile(name="C", group="group:night", language="en"),
    }
    assert plans(cogitate_loop(owners=owners, ticks=370)) == {
        "agent:a": [("S'occuper de ce qui se présente", None)],
        "agent:b": [("Erledigen, was anfällt", None)],
        "agent:c": [("See to what comes up", None)],
    }


def test_a_council_without_hours_goes_through_its_business_in_order(cogitate_loop: Loops) -> None:
    owners = {
        "group:council": Profile(name="The council", routine=("hear petitions @chamber", "vote", "write the minutes")),
        "agent:ana": Profile(name="Ana Ruiz", occupation="treasurer", group="group:council"),
    }
    loop = cogitate_loop(owners=owners, locations=[Location(id="chamber", name="The chamber")], ticks=370)
    assert plans(loop, {"agent:ana": "I promised Bo Lind to bring the accounts."})["agent:ana"] == [
        ("hear petitions", "chamber"),
        ("vote", None),
        ("write the minutes", None),
    ]


def test_a_market_in_chinese_speaks_chinese(cogitate_loop: Loops) -> None:
    owners = {
        "world": Profile(name="集市", routine="7点半 开摊@摊位；08：00—17：00 卖菜 @摊位；晚上8点 收摊回家 @home"),
        "agent:wang": Profile(name="王丽", occupation="菜贩", home="house", currently="王丽正在攒钱买三轮车。"),
        "agent:li": Profile(name="李强", occupation="厨师", work="canteen", routine=("吃早饭", "练拳")),
    }
    places = [
        Location(id="stall", name="一号摊", type="摊位"),
        Location(id="canteen", name="食堂", activities=("吃早饭", "吃午饭")),
        Location(id="house", name="王丽家"),
    ]
    loop = cogitate_loop(owners=owners, locations=places, ticks=370)
    assert plans(loop, {"agent:wang": "城管说今天要清理没有执照的摊位。"}) == {
        "agent:wang": [
            ("待处理：城管说第1天要清理没有执照的摊位", None),
            ("开摊", "stall"),
            ("卖菜", "stall"),
            ("收摊回家", "house"),
        ],
        "agent:li": [("吃早饭", "canteen"), ("练拳", None)],
    }


def test_a_group_routine_keeps_its_hours_and_untimed_habits(cogitate_loop: Loops) -> None:
    watch = ["prayers @chapel", "9:00 sword drill @yard", "14:00-18:00 patrol @wall", "~19h30 feast @hall"]
    owners = {
        "group:watch": Profile(name="The watch", routine=tuple(watch)),
        "agent:gawain": Profile(name="Sir Gawain", occupation="knight", group="group:watch"),
    }
    names = {"chapel": "Chapel", "yard": "Yard", "wall": "Wall"}
    places = [Location(id=one, name=name) for one, name in names.items()]
    places += [Location(id=f"hall-{n}", name=f"Hall {n}", type="hall") for n in (1, 2)]
    (plan,) = plans(cogitate_loop(owners=owners, locations=places, ticks=370)).values()
    assert plan[:3] == [("prayers", "chapel"), ("sword drill", "yard"), ("patrol", "wall")]
    assert plan[3] in [("feast", "hall-1"), ("feast", "hall-2")]


def test_a_profile_without_a_routine_or_place_of_work_gets_an_open_day(cogitate_loop: Loops) -> None:
    owners = {
        "agent:r7": Profile(name="R7"),
        "agent:r8": Profile(name="R8", occupation="maintenance robot"),
        "agent:r9": Profile(name="R9", occupation="maintenance robot", work="hull"),
    }
    assert plans(cogitate_loop(owners=owners, locations=DECKS, ticks=370)) == {
        "agent:r7": [("See to what comes up", None)],
        "agent:r8": [("See to what comes up", None)],
        "agent:r9": [("Work at Hull as a maintenance robot", "hull")],
    }


def test_a_world_without_days_makes_no_plan_and_acts_all_the_same(cogitate_loop: Loops) -> None:
    actions = ("repair the hull", "run diagnostics")
    loop = cogitate_loop(
        owners=STATION,
        ticks=400,
        settings=PinnedSettings(disable=("plan",), act_interval=60),
        brief=lambda owner: {"free": True, "actions": actions},
    )
    changes = [change for tick in loop for change in tick.applied]
    assert not any(change.kind == "plan" for change in changes)
    done = {change.effect.data["doing"] for change in changes if isinstance(change.effect, Tell)}
    assert done == {actions[0]}


@pytest.mark.parametrize(
    ("profile", "fault"),
    [
        ({"routine": "25:00 breakfast"}, "routine: '25:00 breakfast' begins or ends at '25:00', which is not a time"),
        ({"routine": ("7:00 rise", "08:00")}, "'08:00' names nothing to do: write it as in '07:00 breakfast @home'"),
        ({"routine": 7}, "profile of 'agent:r7'"),
        ({"routine": ("7:00 rise", 8)}, "profile of 'agent:r7'"),
        ({"routine": "rise \ud800"}, "profile of 'agent:r7'"),
        ({"group": "crew"}, "'crew' is not an owner"),
    ],
)
def test_an_invalid_routine_is_refused_when_the_loop_opens(
    profile: dict[str, Any], fault: str, cogitate_loop: Loops
) -> None:
    with pytest.raises(InputError) as raised:
        cogitate_loop(owners={"agent:r7": Profile(name="R7", **profile)}, ticks=1)
    assert fault in str(raised.value)


def test_a_routine_may_be_a_list(cogitate_loop: Loops) -> None:
    habits: Any = ["8:00 shift"]
    loop = cogitate_loop(owners={"agent:r7": Profile(name="R7", routine=habits)}, ticks=370)
    assert plans(loop) == {"agent:r7": [("shift", None)]}


def test_a_place_or_group_that_the_run_does_not_have_is_doubted(cogitate_loop: Loops) -> None:
    owners = {"agent:r7": Profile(name="R7", group="group:crew", routine="8:00 shift @modul-b; 9:00 rest @home")}
    with capture_logs() as logs:
        next(iter(cogitate_loop(owners=owners, locations=DECKS, ticks=2)))
    told = {(one["event"], one["what"], one["then"]) for one in logs if one["event"].startswith("profile.")}
    assert told == {
        ("profile.unknown_place", "modul-b", "did you mean 'module-b'?"),
        ("profile.unknown_group", "group:crew", "kept as it is"),
    }

"""Events in the town: initial acquaintances, episodes at work, and invitations."""

from __future__ import annotations

from cogitate.memory.clock import DAY, day_of
from cogitate.memory.entry import Entry
from cogitate.simulation.town.appointments import is_taken
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.town.conversation import learn
from cogitate.simulation.town.people import COMMON_EPISODES, INDOOR_EPISODES
from cogitate.simulation.town.perception import Seen, thought
from cogitate.simulation.town.phrases import PHRASES, for_me, for_other
from cogitate.simulation.town.places import public_id
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import FULL, Meeting, News, Promise, State, acquaint
from cogitate.simulation.town.topics import when

INVITE_AT = 435  # minutes after 00:00 at which all people are up
PEOPLE_PER_EVENT = 9
KEEP_NEWS = 2 * DAY


def beginning(setting: Setting, state: State, minute: int) -> list[Seen]:
    """Return all people's initial memories: housemates, friends and promises."""
    seen: list[Seen] = []
    everyone = list(setting.people.values())
    staff: dict[str, list[str]] = {}
    for person in everyone:
        for colleague in staff.setdefault(person.profile.work, []):
            acquaint(state, person.owner, colleague, 5)
        staff[person.profile.work].append(person.owner)
    for index, person in enumerate(everyone):
        owner, profile = person.owner, person.profile
        mate = everyone[index ^ 1] if (index ^ 1) < len(everyone) else None
        home = setting.where(profile.home)
        if mate is not None:
            acquaint(state, owner, mate.owner, 15)
            seen.append(thought(owner, f"{mate.profile.name} and I share the home at {home}.", minute, 4, mate.owner))
        chance = Chance(state.seed, "acquaintance", owner)
        other = chance.pick(everyone)
        if other is not person and other is not mate:
            acquaint(state, owner, other.owner, 5 + chance.below(20))
            text = f"{other.profile.name}, the {other.trade.title}, is an old friend of mine."
            seen.append(thought(owner, text, minute, 4, other.owner))
            if chance.percent(40):
                thing, done = chance.pick((*PHRASES.favours, *PHRASES.favours_of_neighbours))
                state.promises.append(
                    Promise(giver=owner, taker=other.owner, thing=for_me(thing), done=done, minute=minute)
                )
                text = f"I promised to {for_other(thing, other.profile.name)}."
                seen.append(thought(owner, text, minute, 6, other.owner))
    return seen


def episodes(setting: Setting, day: int) -> dict[int, list[tuple[str, str, int]]]:
    """Return the events at work on a day: game time -> (owner, text, importance). A pure function of the seed."""
    by_minute: dict[int, list[tuple[str, str, int]]] = {}
    taken: set[tuple[str, str]] = set()  # no episode happens twice among colleagues
    for person in setting.people.values():
        chance = Chance(setting.seed, "episodes", person.owner, day)
        own = Chance(setting.seed, "fate", person.owner).shuffled(person.trade.episodes)
        outdoors = "outdoors" in setting.places[person.profile.work].location.tags
        any_place = COMMON_EPISODES if outdoors else (*COMMON_EPISODES, *INDOOR_EPISODES)
        common = Chance(setting.seed, "fate of all", person.owner).shuffled(any_place)
        turn = [own[2 * day % len(own)], own[(2 * day + 1) % len(own)], common[day % len(common)]]
        for text, importance in chance.shuffled(turn)[: 1 + chance.below(3)]:
            if (person.profile.work, text) in taken:
                continue
            taken.add((person.profile.work, text))
            at = day * DAY + person.trade.start + 10 + chance.below(person.trade.end - person.trade.start - 20)
            by_minute.setdefault(at, []).append((person.owner, text, importance))
    return by_minute


def happen(state: State, owner: str, text: str, importance: int, minute: int, witnesses: list[str]) -> list[Seen]:
    """Let an event happen at the owner's place: those present remember it, and an important one becomes news."""
    place = state.bodies[owner].place
    if importance >= 4:
        item = News(id=f"news-{minute}-{owner}", text=text, importance=importance, minute=minute, place=place)
        state.news[item.id] = item
        for witness in witnesses:
            learn(state.bodies[witness], item.id)
    good = Chance(state.seed, "luck", owner, minute).percent(50)
    body = state.bodies[owner]
    body.mood = max(0, min(FULL, body.mood + importance * (50 if good else -50)))
    entry = Entry(
        type="observation", text=text, minute=minute, location=place, subjects=(owner,), importance=importance
    )
    return [(witness, entry) for witness in witnesses]


def invitations(setting: Setting, state: State, here: list[str], minute: int, today: bool) -> list[Seen]:
    """Let some people plan an event for tomorrow or, with `today`, for this day.

    Their housemates and friends learn of it at once. An event today was planned before the town began, so they count
    as invited.
    """
    seen: list[Seen] = []
    day = day_of(minute) + (0 if today else 1)
    chance = Chance(state.seed, "events", day)
    hosts = chance.shuffled(here)[: max(1, len(here) // PEOPLE_PER_EVENT)] if len(here) > 1 else []
    for host, (what, kind, at) in zip(hosts, chance.shuffled(PHRASES.events), strict=False):
        place = public_id(kind, setting.people[host].district)
        begins = day * DAY + at
        if begins <= minute:
            continue
        news_id = f"event-{day}-{host}"
        where, words = setting.where(place), when(begins, minute)
        name = setting.name(host)
        text = f"{name} is holding {what} at {where} {words}."
        state.news[news_id] = News(
            id=news_id, text=text, importance=7, minute=begins, place=place, host=host, what=what
        )
        state.appointments[news_id] = Meeting(
            id=news_id, what=what, place=place, minute=begins, people={host: minute}, host=host
        )
        learn(state.bodies[host], news_id)
        mine = f"I am holding {what} at {where} {words} and want to invite many people."
        seen.append(thought(host, mine, minute, 8, place=place))
        mates = [o for o in here if o != host and setting.people[o].profile.home == setting.people[host].profile.home]
        friends = [o for o in here if o not in mates and o != host and state.bodies[host].feelings.get(o, 0) > 0]
        for other in [o for o in mates + friends if not is_taken(state, o, begins)]:
            learn(state.bodies[other], news_id)
            state.appointments[news_id].people.setdefault(other, minute)
            said = "has invited me to" if today else "invited me to"
            invited = f"{name} {said} {what} at {where} {words}, and I {'have said' if today else 'said'} yes."
            seen.append(thought(other, invited, minute, 7, host, place=place))
    return seen


def forget_old(state: State, minute: int) -> None:
    """Drop outdated news."""
    for news_id in [n.id for n in state.news.values() if n.minute + KEEP_NEWS < minute]:
        del state.news[news_id]
    for body in state.bodies.values():
        body.news = [n for n in body.news if n in state.news]

"""Conversations: who starts one, its lines, and their consequences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cogitate.memory.entry import Entry
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.town.phrases import PHRASES
from cogitate.simulation.town.setting import Setting
from cogitate.simulation.town.state import Body, SpokenLine, State, Talk, warm
from cogitate.simulation.town.topics import TOPICS, Pair, farewell, greeting, trouble

GREETING = 2  # lines; a longer greeting mentions feelings
SLEEPS = frozenset(opening for opening, _ in PHRASES.of_sleep)
MAX_LINES = 14
SAME_PAIR_PAUSE = 150  # minutes before the same two talk again
MAX_KNOWN_NEWS = 24
KEPT_REMARKS = 8
LONGING = 4  # maximum factor by which hours of silence raise the chance of a conversation


def may_talk(body: Body, minute: int) -> bool:
    """Return whether a person may join a conversation now."""
    return body.condition in ("idle", "activity") and not body.need and bool(body.place) and body.quiet_until <= minute


def start(setting: Setting, state: State, here: Iterable[str], place: str, minute: int) -> list[Talk]:
    """Return the conversations that begin here in this minute among the people free to talk (`here`, in order)."""
    free = [owner for owner in here if may_talk(state.bodies[owner], minute)]
    begun: list[Talk] = []
    social = 3 if "social" in setting.places[place].location.tags else 2
    while len(free) > 1:
        owner = free.pop(0)
        person, body = setting.people[owner], state.bodies[owner]
        chance = Chance(state.seed, "talk", owner, minute)
        longing = min(LONGING, 1 + (minute - body.quiet_until) // 120)  # a person long alone seeks company
        if chance.below(10_000) >= person.sociable * social * longing:
            continue
        partners = [o for o in free if minute - body.talked.get(o, minute - SAME_PAIR_PAUSE) >= SAME_PAIR_PAUSE]
        if not partners:
            continue
        other = chance.pick(partners)
        free.remove(other)
        pair = Pair(person, setting.people[other], place, setting, state, minute, chance)
        begun.append(Talk(id=f"talk-{minute}-{owner}", people=[owner, other], place=place, lines=script(pair)))
    return begun


def script(pair: Pair) -> list[SpokenLine]:
    """Return all lines of a conversation: hello, one to four subjects, goodbye; 4 to 14 lines."""
    lines = greeting(pair)
    pair = replace(pair, told_feelings=len(lines) > GREETING)
    subjects = 1 + pair.chance.below(4)
    pressing, idle = TOPICS[:2], pair.chance.shuffled(TOPICS[2:])
    openings: set[str] = set()
    for topic in (*pressing, *idle):
        turned = pair.turned() if pair.chance.percent(50) else pair
        exchange = topic(turned) or (topic(turned.turned()) if topic in pressing else [])
        if topic is TOPICS[1] and exchange and not exchange[1].keeps and pair.chance.percent(60):
            continue  # not every meeting brings a new request
        if not exchange or exchange[0].text in openings or len(lines) + len(exchange) + 2 > MAX_LINES:
            continue
        if topic is trouble and openings & SLEEPS:
            continue  # keep statements about feelings consistent
        pair = replace(pair, told_feelings=pair.told_feelings or topic is trouble)
        openings.add(exchange[0].text)
        lines += exchange
        subjects -= 1
        if subjects <= 0:
            break
    return lines + farewell(pair)


def say(setting: Setting, state: State, talk: Talk, minute: int) -> list[tuple[str, Entry]]:
    """Say the next line: all participants remember it, and its consequences apply."""
    line = talk.lines.pop(0)
    _consequences(state, talk, line, minute)
    entry = Entry(
        type="message",
        text=f"{setting.name(line.speaker)}: {line.text}",
        minute=minute,
        location=talk.place,
        subjects=tuple(talk.people),
        importance=line.importance,
        source="dialogue",
        source_id=talk.id,
    )
    return [(owner, entry) for owner in talk.people]


def learn(body: Body, news_id: str) -> None:
    """Record that a person knows a piece of news; the oldest is forgotten."""
    if news_id not in body.news:
        body.news = [*body.news, news_id][-MAX_KNOWN_NEWS:]


def _consequences(state: State, talk: Talk, line: SpokenLine, minute: int) -> None:
    others = [owner for owner in talk.people if owner != line.speaker]
    for owner in others:
        if line.tells:
            learn(state.bodies[owner], line.tells)
        if line.hobby:
            state.bodies[owner].hobbies.append(line.speaker)
    if line.remark >= 0:
        for owner in talk.people:
            body = state.bodies[owner]
            body.remarks = [*body.remarks, line.remark][-KEPT_REMARKS:]
    if line.agrees is not None:
        state.appointments[line.agrees.id] = line.agrees
    if line.joins and line.joins in state.appointments:
        state.appointments[line.joins].people.setdefault(line.speaker, minute)
    if line.promises is not None:
        state.promises.append(line.promises)
    if line.keeps:
        state.promises = [p for p in state.promises if p.giver != line.speaker or p.taker not in others]
    if line.warmth:
        for owner in others:
            warm(state, line.speaker, owner, line.warmth)

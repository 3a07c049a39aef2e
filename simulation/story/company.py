"""A day of the company: a quest of three scenes, each at a place that recounts the visit."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from cogitate.memory.entry import Entry
from cogitate.memory.routing.routing import Event
from cogitate.memory.routing.scopes import WORLD
from cogitate.simulation.story.people import COMPANY, NAMES, PEOPLE, RANGER, SCHOLAR, SOLDIER, TRAVELLERS, name
from cogitate.simulation.tables import read_table
from cogitate.simulation.town.chance import Chance
from cogitate.simulation.world import Heard, LocationLeft, Report, StoryEvent


class Scene(msgspec.Struct, frozen=True):
    """A visit to one place."""

    place: str
    objective: str  # id
    lines: tuple[tuple[str, str], ...]
    npcs: tuple[str, ...] = ()  # NPCs at the place
    encounter: str = ""  # id of a fight or a trap that ends when the company leaves
    cleared: bool = False  # no danger remains there


class Quest(msgspec.Struct, frozen=True):
    """A quest with two endings."""

    id: str
    title: str
    giver: str
    task: str  # the giver's words on hiring the company
    scenes: tuple[Scene, Scene]
    endings: tuple[Scene, Scene]
    pay: int  # silver


class _Table(msgspec.Struct, frozen=True):
    quests: tuple[Quest, ...]


QUESTS = read_table(__package__, "quests", _Table).quests


HIRED = 480  # minutes of the day
ARRIVALS = (570, 750, 990)
PHASE = "quest"
GRAVE = re.compile(r"\b(fought|fell|fever|stolen|burned|dead|promise\w*|hired|sister)\b")


class Arrival(NamedTuple):
    """The players enter a place, and a narrator may recall its memories."""

    minute: int  # of the day
    place: str
    npcs: tuple[str, ...]
    hearers: tuple[str, ...]


class Journey(NamedTuple):
    """A day of the company."""

    quest: Quest
    scenes: tuple[Scene, Scene, Scene]
    reports: tuple[tuple[int, Report], ...]  # with the minute of the day
    arrivals: tuple[Arrival, ...]

    def place(self, of_day: int) -> str:
        begun = [scene.place for at, scene in zip(ARRIVALS, self.scenes, strict=True) if at - 20 <= of_day]
        return begun[-1] if begun else "tavern"


def journey(seed: int, day: int) -> Journey:
    times, number = divmod(day, len(QUESTS))
    quest = Chance(seed, "quests", times).shuffled(QUESTS)[number]
    ending = Chance(seed, "ending", quest.id).below(2)
    scenes = (*quest.scenes, quest.endings[ending if times % 2 == 0 else 1 - ending])
    quest_id = quest.id if not times else f"{quest.id}-{times + 1}"
    reports: list[tuple[int, Report]] = _hired(quest, quest_id)
    arrivals: list[Arrival] = []
    for at, scene in zip(ARRIVALS, scenes, strict=True):
        lines, minute = _scene(scene, quest_id, at)
        arrivals.append(Arrival(at - 1, scene.place, scene.npcs, _present(scene)))
        reports += lines
        reports += _consequences(scene, quest_id, minute)
    reports += _council_of_war(quest, scenes, quest_id)
    done = ARRIVALS[2] + 3 * len(scenes[2].lines) + 5
    settled = f"Kestrel Vane's company had done what it could about {quest.title}."
    reports.append((done, (WORLD, _told(settled, done, scenes[2].place, quest_id))))
    reports.append((done, StoryEvent("quest_completed", (), {"quest_id": quest_id})))
    if day % 2:
        reports.append((done, StoryEvent("act_progressed", (), {"act_id": f"act-{day // 2 + 2}"})))
    return Journey(quest, scenes, tuple(reports), tuple(arrivals))


def _hired(quest: Quest, quest_id: str) -> list[tuple[int, Report]]:
    hearers = dict.fromkeys((*TRAVELLERS, quest.giver, WORLD))
    return [(HIRED, (owner, _told(quest.task, HIRED, "tavern", quest_id))) for owner in hearers]


def _scene(scene: Scene, quest_id: str, begin: int) -> tuple[list[tuple[int, Report]], int]:
    """Return the scene's reports, a line every three minutes, and the minute after the last."""
    hearers, minute = _present(scene), begin
    reports: list[tuple[int, Report]] = []
    for speaker, line in scene.lines:
        if speaker:
            others = tuple(owner for owner in hearers if owner != speaker)
            entry = Entry(
                type="message",
                text=f"{name(speaker)}: {line}",
                minute=minute,
                location=scene.place,
                subjects=(speaker, *others),
                source="dialogue",
                source_id=f"{quest_id}:{scene.objective}",
                importance=6 if GRAVE.search(line) else 4,
                quest_id=quest_id,
            )
        else:
            entry = _told(line, minute, scene.place, quest_id)
        reports += [(minute, (owner, entry)) for owner in (*hearers, WORLD)]
        minute += 3
    return reports, minute


def _consequences(scene: Scene, quest_id: str, minute: int) -> list[tuple[int, Report]]:
    """Return the events of the company's departure: the place recounts the visit, and the world the outcome."""
    reports: list[tuple[int, Report]] = [(minute, LocationLeft(scene.place, scene.npcs))]
    related = {"quest_id": quest_id, "objective_id": scene.objective}
    reports.append((minute, StoryEvent("objective_completed", (), related)))
    if scene.encounter:
        where = {"location_id": scene.place, "encounter_id": scene.encounter}
        reports.append((minute + 1, StoryEvent("encounter_completed", (), where)))
    if scene.cleared:
        reports.append((minute + 2, StoryEvent("location_cleared", (), {"location_id": scene.place})))
    return reports


def _council_of_war(quest: Quest, scenes: tuple[Scene, ...], quest_id: str) -> list[tuple[int, Report]]:
    """Return the companions' statements on the road before the last scene."""
    last, begin = scenes[2], ARRIVALS[2] - 60
    statements = (
        (RANGER, f"We know enough now. I want to be at {NAMES[last.place]} before dark."),
        (SOLDIER, "My shoulder hurts, but I will go in front." if scenes[1].cleared else "Then let us eat first."),
        (SCHOLAR, f"I have written down everything that we heard at {NAMES[scenes[0].place]}."),
    )
    reports: list[tuple[int, Report]] = []
    for turn, (speaker, text) in enumerate(statements):
        event = Event(
            kind="discussion_statement",
            speaker=speaker,
            topic=quest.title,
            text=text,
            phase=PHASE,
            stage="on the road",
            location="woods",
            group=COMPANY,
            subjects=tuple(o for o in TRAVELLERS if o != speaker),
        )
        reports.append((begin + 3 * turn, Heard(event)))
    return reports


def _present(scene: Scene) -> tuple[str, ...]:
    speakers = (speaker for speaker, _ in scene.lines if speaker)
    return tuple(dict.fromkeys((*TRAVELLERS, *scene.npcs, *speakers)))


def _told(text: str, minute: int, place: str, quest_id: str) -> Entry:
    named = tuple(owner for owner, profile in PEOPLE.items() if profile.name in text)
    return Entry(
        type="observation",
        text=text,
        minute=minute,
        location=place,
        subjects=named,
        importance=7 if GRAVE.search(text) else 5,
        source="social",
        quest_id=quest_id,
    )

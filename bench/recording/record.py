"""Writes a recording of the town in the Generative Agents format: `python -m bench.recording.record OUT`.

The same arguments write the same bytes. This module wrote the recording in `simulation/recordings/small`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from bench.recording.load_profile import job_demand, reflection_times, reflections
from cogitate.memory.clock import DAY, clock_time
from cogitate.memory.entry import Entry
from cogitate.memory.profile import Profile
from cogitate.simulation.recorded.nodes import Node, node_record
from cogitate.simulation.recorded.recording import read_recording
from cogitate.simulation.town.people import Person, population
from cogitate.simulation.town.town import Town

START = datetime(2023, 2, 13)  # noqa: DTZ001 - game time has no zone
STEP = 60  # seconds
TRIGGER = 60  # importance per reflection: lower than the original's, since the town's days are quieter
INSIGHTS = 3
WORLD = "the Town"

Record = dict[str, Any]


def record_town(out: Path, agents: int = 3, town: int = 12, minutes: int = DAY, seed: int = 0) -> None:
    """Run a town for `minutes` from midnight, and write the observations of its first `agents` agents to `out`.

    Raises:
        ValueError: if the size of the town is invalid or too small, or the time is not positive.
        OSError: if the folder cannot be written.
    """
    if minutes < 1:
        raise ValueError(f"cannot record {minutes} minutes: use at least 1")
    if not 1 <= agents <= town:
        raise ValueError(f"cannot record {agents} agents of a town of {town}: use 1 to {town}")
    world = Town(agents=town, seed=seed)
    places = {place.id: place.name for place in world.locations}
    profiles = {owner: _in_prose(person, places) for owner, person in population(seed, town).items()}
    recorded = list(profiles)[:agents]
    diaries: dict[str, list[Entry]] = {owner: [] for owner in profiles}
    doings: dict[str, list[str]] = {owner: [] for owner in recorded}
    for tick in range(minutes):
        for owner, entry in world.step(tick, tick):
            diaries[owner].append(entry)
        for owner in recorded:
            doings[owner].append(_doing(world.brief(owner), places))
    end = START + timedelta(minutes=minutes - 1)
    meta = {
        "fork_sim_code": f"town-{town}-seed-{seed}",
        "start_date": START.strftime("%B %d, %Y"),
        "curr_time": end.strftime("%B %d, %Y, %H:%M:%S"),
        "sec_per_step": STEP,
        "maze_name": "the_town",
        "persona_names": [profiles[owner].name for owner in recorded],
        "step": minutes,
    }
    _write(out / "meta.json", meta)
    for owner in recorded:
        profile = profiles[owner]
        nodes = _nodes(owner, diaries[owner], profiles, places)
        found = reflections([_as_node(number, node) for number, node in enumerate(nodes, 1)], TRIGGER)
        nodes = _with_insights(nodes, found.times, profile.name)
        folder = out / "personas" / profile.name / "bootstrap_memory"
        counters = {"importance_trigger_curr": found.counter, "importance_ele_n": found.events}
        _write(folder / "scratch.json", _scratch(profile, places, doings[owner], end) | counters)
        numbered = {f"node_{number}": node for number, node in enumerate(nodes, 1)}
        _write(folder / "associative_memory" / "nodes.json", dict(reversed(numbered.items())))
    recording = read_recording(out)
    _write(out / "reflection_times.json", reflection_times(recording, str(meta["fork_sim_code"])))
    (out / "job_demand.csv").write_text(job_demand(recording), encoding="utf-8")


def _in_prose(person: Person, places: Mapping[str, str]) -> Profile:
    """Return an inhabitant's profile with its routine in words, as recordings have it."""
    profile, trade = person.profile, person.trade
    place = "home" if profile.work == profile.home else places[profile.work]
    routine = (
        f"{profile.name} wakes up around {clock_time(person.wake)}, works at {place} from {clock_time(trade.start)} "
        f"to {clock_time(trade.end)} and goes to bed around {clock_time(person.bed)}."
    )
    return msgspec.structs.replace(profile, routine=routine)


def _write(file: Path, data: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _time(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def _doing(brief: dict[str, Any], places: dict[str, str]) -> str:
    if brief["condition"] in ("sleeping", "walking"):
        return str(brief["condition"])
    return f"{brief['activity'] or 'resting'} at {places[brief['location']]}"


def _nodes(owner: str, diary: list[Entry], profiles: Mapping[str, Profile], places: dict[str, str]) -> list[Record]:
    """Return the day's plan, observations as events, and conversations as chats at the time of their last line."""
    me = profiles[owner].name
    day = START.strftime("%A %B %d")
    plan = f"This is {me}'s plan for {day}: {profiles[owner].routine}"
    nodes = [node_record("thought", START, plan, 5, me, day, None)]
    talks: dict[str, list[Entry]] = {}
    for entry in diary:
        if entry.type == "message":
            talks.setdefault(entry.source_id, []).append(entry)
    last_lines = {id(lines[-1]): lines for lines in talks.values()}
    for entry in diary:
        others = [profiles[o].name for o in entry.subjects if o != owner]
        if entry.type == "message":
            lines = last_lines.get(id(entry))
            if lines is not None:
                gist = max(lines, key=lambda line: line.importance).text
                filling = [line.text.split(": ", 1) for line in lines]
                text = f"conversing between {me} and {others[0]}, among other things: {gist}"
                importance = max(line.importance for line in lines)
                nodes.append(node_record("chat", _time(entry.minute), text, importance, me, others[0], filling))
            continue
        place = places.get(entry.location, "")
        here = f"{WORLD}:{place}:main room" if place else me
        subject, obj = (
            (others[0], "") if others and entry.source == "perception" else (here, others[0] if others else "")
        )
        nodes.append(node_record("event", _time(entry.minute), entry.text, entry.importance, subject, obj, []))
    return nodes


def _as_node(number: int, node: Record) -> Node:
    created = datetime.fromisoformat(node["created"])
    return Node(
        number=number, type=node["type"], created=created, text=node["description"], poignancy=node["poignancy"]
    )


def _with_insights(nodes: list[Record], times: list[datetime], me: str) -> list[Record]:
    """Add insights at each time of reflection, with the events since the previous one as evidence."""
    result: list[Record] = []
    since: list[tuple[int, Record]] = []
    due = [str(when) for when in times]
    for created, group in groupby(nodes, key=lambda node: str(node["created"])):
        for node in group:
            result.append(node)
            if node["type"] == "event":
                since.append((len(result), node))
        if created in due:
            people = Counter(
                node["subject"] for _, node in since if ":" not in node["subject"] and node["subject"] != me
            )
            for name, times_seen in sorted(people.items(), key=lambda item: (-item[1], item[0]))[:INSIGHTS]:
                evidence = [f"node_{number}" for number, node in since if node["subject"] == name][:5]
                text = f"{me} notices {name} more often than others" if times_seen > 2 else f"{me} has met {name}"
                result.append(node_record("thought", datetime.fromisoformat(created), text, 5, me, name, evidence))
            since = []
    return result


def _scratch(profile: Profile, places: dict[str, str], doings: list[str], end: datetime) -> Record:
    first, _, last = profile.name.partition(" ")
    schedule = [[words, len(list(run))] for words, run in groupby(doings[-DAY:])]
    return {
        "vision_r": 5,
        "curr_time": end.strftime("%B %d, %Y, %H:%M:%S"),
        "daily_plan_req": profile.routine,
        "name": profile.name,
        "first_name": first,
        "last_name": last,
        "age": profile.age,
        "innate": ", ".join(profile.traits),
        "learned": profile.background,
        "currently": profile.currently,
        "lifestyle": profile.routine,
        "living_area": f"{WORLD}:{places[profile.home]}:main room",
        "importance_trigger_max": TRIGGER,
        "daily_req": [profile.routine],
        "f_daily_schedule": schedule,
        "f_daily_schedule_hourly_org": schedule,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line of this module, by default with the process's arguments."""
    parser = argparse.ArgumentParser(prog="python -m bench.recording.record", description="Record a day of the town.")
    parser.add_argument("out", type=Path, help="folder to write the recording to")
    parser.add_argument("--agents", type=int, default=3, help="number of recorded agents")
    parser.add_argument("--town", type=int, default=12, help="number of agents in the town")
    parser.add_argument("--minutes", type=int, default=DAY)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    try:
        record_town(given.out, given.agents, given.town, given.minutes, given.seed)
    except (ValueError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()

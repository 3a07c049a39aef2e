"""Reads and writes saves of Generative Agents (Park et al. 2023): the memories of their personas.

`write_save` adds fields for what the format lacks: each node has the complete memory, each scratch its owner.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from redis import Redis

from cogitate.memory import typed_json
from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry, EntryType
from cogitate.memory.errors import InputError
from cogitate.memory.profile import Location, Profile
from cogitate.memory.routines import routine_text
from cogitate.memory.stream import Stream
from cogitate.ops.exchange.incoming import MAX_FILE, Incoming, owner_named
from cogitate.scheduler.config.facts import Facts
from cogitate.scheduler.journal.private_files import private_file, private_folder
from cogitate.scheduler.ledger.run_store import RunStore
from cogitate.simulation.recorded.nodes import KEPT, Node, NodeType, node_record, sound_text
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.recorded.recording import Persona

_REFUSED = {
    "not_a_record": "is no record of a node such as node_1",
    "unknown_type": "has a type other than event, thought and chat",
    "bad_date": "has no time of creation such as '2023-02-13 08:30:00'",
    "empty_text": "has no description",
    "blank_text": "has the description that stands for a failed answer",
    "text_too_long": "has a description of more than 4,000 characters",
}


def read_save(folder: Path) -> Incoming:
    """Return the memories of a save's personas: events, the lines of chats, and thoughts as reflections.

    It skips and reports invalid nodes, or repairs them if that is safe.

    Raises:
        InputError: when a file is too large, or has no valid memory.
        RecordingError: when the folder is not a save, or one of its files cannot be read.
    """
    for file in sorted(folder.rglob("*.json")):
        if file.is_file() and (size := file.stat().st_size) > MAX_FILE:
            raise InputError(f"{file}: it has {size:,} bytes, at most {MAX_FILE:,} are read")
    world = RecordedWorld(folder)
    content = Incoming(source=folder, locations=world.locations)
    content.repaired.update(world.warnings)
    for owner, profile in world.owners().items():
        persona = world.personas[owner]
        for node in persona.refused:
            content.repaired[node.reason] -= 1
            fault = _REFUSED.get(node.reason, node.reason)
            content.leave_out("node", f"{persona.name}, {node.key} {fault}: {node.value}")
        content.add_owner(owner, profile)
        _remember(content, world, owner, persona)
    content.left_out["line of a chat"] += content.repaired.pop("bad_chat_line", 0)
    content.left_out, content.repaired = +content.left_out, +content.repaired  # without zero counts
    content.check_usable()
    return content


def _remember(content: Incoming, world: RecordedWorld, owner: str, persona: Persona) -> None:
    numbers: dict[int, tuple[int, ...]] = {}  # number of a node -> numbers of its entries
    number = 0
    for node in persona.nodes:
        of_node = []
        for entry in _entries(world, owner, node):
            with content.reporting("node", f"{persona.name}, node_{node.number}"):
                evidence = tuple(one for rests in entry.evidence or node.evidence for one in numbers.get(rests, ()))
                content.add(owner, msgspec.structs.replace(entry, evidence=evidence))
                number += 1
                of_node.append(number)
        numbers[node.number] = tuple(of_node)


def _entries(world: RecordedWorld, owner: str, node: Node) -> list[Entry]:
    minute = world.recording.minute_of(node.created)
    kept = node.kept
    if kept is not None and (sound_text(kept.text)[0], kept.minute, kept.importance) == (
        node.text,
        minute,
        node.poignancy,
    ):  # the node was not edited
        return [msgspec.structs.replace(kept, number=0, tick=0, rated=0, provisional=False, since_number=None)]
    if node.type != "thought":
        return world.entries_of(owner, node)
    return [
        Entry(
            type="reflection",
            text=node.text,
            minute=minute,
            subjects=(owner,),
            keywords=node.keywords,
            importance=node.importance,
            source="internal",
        )
    ]


DAY_0 = datetime(2023, 2, 13)  # noqa: DTZ001 - game time has no zone; the first day of the published saves
LATEST = (datetime(9999, 10, 1) - DAY_0).days * DAY  # noqa: DTZ001 - minutes; a later memory has no date
TRIGGER = 150  # importance per reflection, as in the published saves
WORLD = "the Ville"
_PERSONAS = ("agent", "npc")  # scopes whose owners can be a persona
_TYPES: dict[EntryType, NodeType] = {
    "observation": "event",
    "message": "chat",
    "reflection": "thought",
    "plan": "thought",
    "summary": "event",
}
_MOST_NAME = 60  # characters of a folder's name


@dataclass
class Saved:
    """Counts of written and skipped items."""

    personas: int = 0
    nodes: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def lines(self, run: str, out: Path) -> list[str]:
        """Return the counts as lines."""
        lines = [f"{self.nodes:,} memories of {self.personas:,} personas of run {run} in {out}"]
        if self.left_out:
            counts = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(self.left_out.items()))
            lines.append(f"left out: {counts}")
        return lines


@dataclass(frozen=True, kw_only=True)
class _Cast:
    """The names that nodes use."""

    names: dict[str, str]  # owner -> name of the persona
    places: dict[str, str]  # id of a location -> its name


def write_save(client: Redis, run: str, streams: Iterable[Stream], out: Path) -> Saved:
    """Write the live memories of a run's agents and NPCs to a new folder.

    Raises:
        InputError: when the folder exists and is not empty.
        RunMissing: if the run does not exist.
    """
    store = RunStore.open(client, run)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"--out {out}: it exists and is not an empty folder: give a new one")
    profiles = {name.decode(): typed_json.decode(raw, Profile) for name, raw in store.mapping("owners").items()}
    saved, of_personas = Saved(), list[Stream]()
    for stream in streams:
        if stream.owner.partition(":")[0] in _PERSONAS:
            of_personas.append(stream)
        else:
            saved.left_out["memory of a place, a group or the world"] += len(stream.live())
        saved.left_out["archived memory"] += len(stream.archived)
    facts = _facts(store)
    of_owner = {stream.owner: profiles.get(stream.owner) or owner_named(stream.owner)[1] for stream in of_personas}
    cast = _Cast(names=_folders(of_owner), places={place.id: place.name for place in facts.locations})
    if not of_personas:
        raise InputError(f"run {run}: it has no agent or NPC, so there is no persona to write")
    with private_folder(out) as folder:
        _fill(folder, run, of_personas, of_owner, cast, facts, saved)
    saved.left_out = +saved.left_out
    return saved


def _fill(
    out: Path, run: str, streams: list[Stream], of_owner: dict[str, Profile], cast: _Cast, facts: Facts, saved: Saved
) -> None:
    last = 0
    for stream in streams:
        owner, name = stream.owner, cast.names[stream.owner]
        entries = [entry for entry in (*stream.live(), *stream.head.waiting) if entry.minute <= LATEST]
        saved.left_out["memory of a time beyond the year 9999"] += (
            len(stream.live()) + len(stream.head.waiting) - len(entries)
        )
        last = max([last, *(entry.minute for entry in entries)])
        folder = out / "personas" / name / "bootstrap_memory"
        nodes = _nodes(owner, entries, cast)
        _write(folder / "associative_memory" / "nodes.json", dict(reversed(nodes.items())))
        _write(folder / "associative_memory" / "kw_strength.json", _strength(nodes.values()))
        _write(folder / "associative_memory" / "embeddings.json", {})
        _write(folder / "spatial_memory.json", _spatial(facts.locations))
        _write(folder / "scratch.json", _scratch(owner, name, of_owner[owner], cast, entries))
        saved.personas, saved.nodes = saved.personas + 1, saved.nodes + len(entries)
    meta = {
        "fork_sim_code": run,
        "start_date": DAY_0.strftime("%B %d, %Y"),
        "curr_time": _time(last).strftime("%B %d, %Y, %H:%M:%S"),
        "sec_per_step": min(86_400, facts.clock.seconds_per_tick),
        "maze_name": "the_ville",
        "persona_names": [cast.names[stream.owner] for stream in streams],
        "step": facts.clock.ticks(last),
    }
    _write(out / "reverie" / "meta.json", meta)


def _facts(store: RunStore) -> Facts:
    """Return the latest constants of the run."""
    content = store.mapping("facts")
    return typed_json.decode(content[max(content, key=int)], Facts) if content else Facts()


def _write(file: Path, data: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with private_file(file) as opened:
        opened.write(json.dumps(data, indent=1, ensure_ascii=False).encode() + b"\n")


def _time(minute: int) -> datetime:
    return DAY_0 + timedelta(minutes=minute)


def _folders(profiles: dict[str, Profile]) -> dict[str, str]:
    """Return the name of each owner's persona: the profile's name, made unique and valid as a folder's name."""
    taken: set[str] = set()
    names: dict[str, str] = {}
    for owner, profile in profiles.items():
        fit = sound_text(profile.name.replace("/", "-").replace("\\", "-").replace("\n", " ").replace("\t", " "))[0]
        fit = fit[:_MOST_NAME].strip(" .") or owner.partition(":")[2][:_MOST_NAME].replace("/", "-")
        name, number = fit, 1
        while name.casefold() in taken:
            number += 1
            name = f"{fit} {number}"
        taken.add(name.casefold())
        names[owner] = name
    return names


def _nodes(owner: str, entries: list[Entry], cast: _Cast) -> dict[str, dict[str, Any]]:
    """Return the nodes of one persona, numbered without gaps, as Generative Agents requires."""
    renumbered = {entry.number: number for number, entry in enumerate(entries, 1) if entry.number}
    nodes: dict[str, dict[str, Any]] = {}
    counts: Counter[str] = Counter()
    for number, entry in enumerate(entries, 1):
        evidence = tuple(renumbered[n] for n in entry.evidence if n in renumbered)
        speaker, colon, words = entry.text.partition(": ")
        chat = entry.type == "message" and bool(colon and speaker.strip() and words.strip())
        node_type = _TYPES[entry.type] if chat or entry.type != "message" else "event"
        others = [cast.names[one] for one in entry.subjects if one != owner and one in cast.names]
        place = cast.places.get(entry.location, "").replace(":", " ")
        subject = f"{WORLD}:{place}:main room" if place and node_type == "event" else cast.names[owner]
        filling: object = None
        if node_type == "chat":
            filling = [[speaker, words]]
        elif evidence:
            filling = [f"node_{one}" for one in evidence]
        record = node_record(
            node_type, _time(entry.minute), entry.text, entry.importance, subject, others[0] if others else "", filling
        )
        counts[node_type] += 1
        kept = msgspec.structs.replace(entry, number=number, evidence=evidence)
        nodes[f"node_{number}"] = {
            "node_count": number,
            "type_count": counts[node_type],
            **record,
            "embedding_key": entry.text,
            "keywords": sorted({*record["keywords"], *entry.keywords}),
            KEPT: msgspec.to_builtins(kept),
        }
    return nodes


def _strength(nodes: Iterable[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how often each keyword occurs, in events and in thoughts."""
    events: Counter[str] = Counter()
    thoughts: Counter[str] = Counter()
    for node in nodes:
        if node["type"] != "chat":
            (events if node["type"] == "event" else thoughts).update(word.lower() for word in node["keywords"])
    return {"kw_strength_event": dict(sorted(events.items())), "kw_strength_thought": dict(sorted(thoughts.items()))}


def _spatial(locations: Iterable[Location]) -> dict[str, Any]:
    return {WORLD: {place.name.replace(":", " "): {"main room": []} for place in locations}}


def _scratch(owner: str, name: str, profile: Profile, cast: _Cast, entries: list[Entry]) -> dict[str, Any]:
    first, _, last = name.partition(" ")
    home = cast.places.get(profile.home, "").replace(":", " ")
    now = max((entry.minute for entry in entries), default=0)
    return {
        "vision_r": 8,
        "curr_time": _time(now).strftime("%B %d, %Y, %H:%M:%S"),
        "name": name,
        "first_name": first,
        "last_name": last,
        "age": profile.age,
        "innate": ", ".join(profile.traits),
        "learned": profile.background or profile.occupation,
        "currently": profile.currently,
        "lifestyle": routine_text(profile.routine),
        "living_area": f"{WORLD}:{home}:main room" if home else "",
        "daily_plan_req": "",
        "daily_req": [],
        "f_daily_schedule": [],
        "f_daily_schedule_hourly_org": [],
        "importance_trigger_max": TRIGGER,
        "importance_trigger_curr": TRIGGER,
        "importance_ele_n": 0,
        "cogitate_owner": owner,
    }

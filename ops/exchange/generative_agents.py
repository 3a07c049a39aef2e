"""Reads saves of Generative Agents (Park et al. 2023): the memories of their personas."""

from __future__ import annotations

from pathlib import Path

import msgspec

from cogitate.memory.entry import Entry
from cogitate.memory.errors import InputError
from cogitate.ops.exchange.incoming import MAX_FILE, Incoming, TooMany
from cogitate.simulation.recorded.nodes import Node, sound_text
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

    Invalid nodes are skipped and reported, or repaired if that is safe.

    Raises:
        InputError: when a file is too large, or has no valid memory.
        RecordingError: when the folder is not a save, or one of its files cannot be read.
    """
    for file in sorted(folder.rglob("*.json")):
        if file.is_file() and (size := file.stat().st_size) > MAX_FILE:
            raise InputError(f"{file}: it has {size:,} bytes, at most {MAX_FILE:,} are read")
    world = RecordedWorld(folder)
    found = Incoming(source=folder, locations=world.locations)
    found.repaired.update(world.warnings)
    for owner, profile in world.owners().items():
        persona = world.personas[owner]
        for node in persona.refused:
            found.repaired[node.reason] -= 1
            told = _REFUSED.get(node.reason, node.reason)
            found.leave_out("node", f"{persona.name}, {node.key} {told}: {node.value}")
        found.add_owner(owner, profile)
        _remember(found, world, owner, persona)
    found.left_out["line of a chat"] += found.repaired.pop("bad_chat_line", 0)
    found.left_out, found.repaired = +found.left_out, +found.repaired  # without zero counts
    found.check_usable()
    return found


def _remember(found: Incoming, world: RecordedWorld, owner: str, persona: Persona) -> None:
    numbers: dict[int, tuple[int, ...]] = {}  # number of a node -> numbers of its entries
    number = 0
    for node in persona.nodes:
        of_node = []
        for entry in _entries(world, owner, node):
            try:
                evidence = tuple(one for rests in entry.evidence or node.evidence for one in numbers.get(rests, ()))
                found.add(owner, msgspec.structs.replace(entry, evidence=evidence))
            except TooMany:
                raise
            except InputError as error:
                found.leave_out("node", f"{persona.name}, node_{node.number}: {error}")
                continue
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

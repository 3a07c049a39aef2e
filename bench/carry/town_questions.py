"""Questions about the memories of a town's people. The town knows the answers, since it knows what each line changes.

The people follow their routines, without plans and summaries, so the questions test whether the lines are found. The
questions were worded once, before any figure was known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from bench.carry.questions import Asked, Question
from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.simulation.town.state import SpokenLine, Talk
from cogitate.simulation.town.town import Town

OF_OTHERS = "Tell me, what do you think of "
LOST = "Oh no, I forgot."


@dataclass(frozen=True)
class _Line:
    number: int  # of the entry
    talk: str
    said: SpokenLine


class _Watched(Town):
    """A town that exposes its talks before they are spoken."""

    def talks(self) -> Sequence[Talk]:
        return tuple(self._state.talks.values())

    def event(self, meeting: str) -> str:
        """Return the event that people were invited to; "" if it is long over."""
        found = self._state.appointments.get(meeting)
        return found.what if found is not None else ""


def memories(agents: int, days: int, seed: int) -> list[Asked]:
    """Return the memories of a town's people after some days, each with questions; omit memories without any."""
    town = _Watched(agents, seed)
    scripts: dict[tuple[str, str], SpokenLine] = {}
    events: dict[str, str] = {}
    entries: dict[str, list[Entry]] = {owner: [] for owner in town.owners()}
    spoken: dict[str, list[_Line]] = {owner: [] for owner in entries}
    names = {owner: profile.name for owner, profile in town.owners().items()}
    for minute in range(days * DAY):
        for owner, entry in town.step(minute, minute):
            kept = msgspec.structs.replace(entry, number=len(entries[owner]) + 1)
            entries[owner].append(kept)
            said = scripts.get((entry.source_id, entry.text)) if entry.source == "dialogue" else None
            if said is not None:
                spoken[owner].append(_Line(kept.number, entry.source_id, said))
        for talk in town.talks():
            for line in talk.lines:
                scripts[talk.id, f"{names[line.speaker]}: {line.text}"] = line
                if line.joins:
                    events[line.joins] = town.event(line.joins)
    asked = (
        Asked(f"town {seed}, {owner}", entries[owner], tuple(_questions(spoken[owner], names, events)))
        for owner in entries
    )
    return [one for one in asked if one.questions]


def _questions(lines: Sequence[_Line], names: Mapping[str, str], events: Mapping[str, str]) -> Iterator[Question]:
    first = {owner: name.split()[0] for owner, name in names.items()}
    found: dict[tuple[str, str], set[int]] = {}

    def add(kind: str, text: str, *numbers: int) -> None:
        found.setdefault((kind, text), set()).update(numbers)

    latest: dict[str, int] = {}
    for at, line in enumerate(lines):
        said, who = line.said, first[line.said.speaker]
        before = lines[at - 1] if at and lines[at - 1].talk == line.talk else None
        if said.promises is not None:
            add("promised to whom", f"What did {who} promise {first[said.promises.taker]}?", line.number)
            add("all promises", f"Which favours does {who} do for other people?", line.number)
            latest[who] = line.number
        if said.text.startswith(LOST) and before is not None:
            add("broken", f"Whom did {who} disappoint by not keeping a promise?", line.number, before.number)
        if said.hobby and said.text.startswith("Lately"):
            add("hobby", f"What does {who} like to do?", line.number)
        if said.agrees is not None and before is not None:
            what = said.agrees.what
            add(
                "meeting",
                f"Where and when do {who} and {first[before.said.speaker]} want to {what}?",
                before.number,
                line.number,
            )
        if said.joins and events.get(said.joins):
            add("guests", f"Who accepted the invitation to {events[said.joins]}?", line.number)
        if before is not None and before.said.text.startswith(OF_OTHERS):
            whom = before.said.text.removeprefix(OF_OTHERS).rstrip("?")
            add("opinion", f"Does {who} get on with {whom}?", line.number)
            add("all opinions", f"What do people say about {whom}?", line.number)
        if said.tells and not said.joins and "They say at" in said.text:
            add("news", f"Which news did {who} tell?", line.number)
        if said.text.startswith(("I am worn out", "I feel a bit lonely")):
            add("trouble", f"Is {who} unhappy or unwell?", line.number)
    for who, number in latest.items():
        add("last", f"When did {who} last promise something?", number)
    for (kind, text), numbers in found.items():
        yield Question(text, kind, frozenset(numbers))

"""What tests of the window of tokens share: an owner's context, and models that compress it."""

from __future__ import annotations

from cogitate.memory.entry import Character, Entry
from cogitate.memory.limits import MemoryLimits
from cogitate.memory.stream import Stream
from cogitate.tasks.kind import Case
from tests.unit.tasks.policy_cases import OGILVY

LIMITS = MemoryLimits(policy="tokens", token_limit=100)
KNOWN = Character(
    names=("Elara", "Borin"),
    objectives=("recover the Sunstone",),
    relationships={"Elara": "trusted friend"},
    inventory=("silver dagger", "two healing potions"),
)


def stream_of(*texts: str, summary: str = "", character: Character | None = None, owner: str = OGILVY) -> Stream:
    stream = Stream(owner)
    for minute, text in enumerate(texts, start=1):
        stream.append(Entry(type="observation", text=text, minute=minute), minute)
    stream.head.summary = summary
    stream.head.character = character or Character()
    return stream


def ten_words(number: int) -> str:
    """Thirteen tokens."""
    return f"Elara walked {number} miles north to the old stone bridge."


def briefly(case: Case) -> str:
    """A model that writes little."""
    return f"Summary {case.job.summary_version + 1}: Elara walked north."


def at_length(case: Case) -> str:
    """A model that writes far too much."""
    return " ".join(f"Elara walked {number} miles." for number in range(60))


def fails(case: Case) -> None:
    """A model that never answers."""

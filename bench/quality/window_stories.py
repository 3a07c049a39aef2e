"""The share of stories that a token window keeps: names, objectives, relations and inventory (window design).

Twelve stories of different genres are in tests/fixtures/stories. The heuristic was tuned on the half named
"development"; the other half was written at the same time and only measured. Each story is compressed into half of its
tokens, in three batches like in a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.table import Row, Table
from cogitate.memory.entry import Entry
from cogitate.memory.language.sentences import split_sentences
from cogitate.memory.summaries.long_term import estimate_tokens, fold

STORIES = Path(__file__).parents[2] / "tests" / "fixtures" / "stories"
KINDS = ("names", "objective", "relation", "item")
BATCHES = 3
SHARE = 0.5  # of the story's tokens, for the summary
HALVES = ("development", "held out")


@dataclass(frozen=True)
class Told:
    """A story and the facts that its summary must keep. A fact is a set of words that occur in one sentence."""

    name: str
    half: str
    facts: dict[str, list[list[str]]]
    lines: list[str]

    def summary(self, share: float = SHARE) -> str:
        """Return the long-term summary after all batches."""
        room = int(share * sum(map(estimate_tokens, self.lines)))
        entries = [Entry(type="observation", text=line, minute=10 * at) for at, line in enumerate(self.lines)]
        size, text = -(-len(entries) // BATCHES), ""
        for begin in range(0, len(entries), size):
            text = fold(text, entries[begin : begin + size], {}, room)
        return text

    def kept(self, text: str) -> dict[str, tuple[int, int]]:
        """Return, for each type of fact, how many a text keeps and how many there are."""
        sentences = [sentence.lower() for sentence in split_sentences(text)]
        return {
            kind: (
                sum(any(all(word.lower() in s for word in fact) for s in sentences) for fact in facts),
                len(facts),
            )
            for kind, facts in self.facts.items()
        }


def read_stories() -> list[Told]:
    """Return the stories by name."""
    return [_read(path) for path in sorted(STORIES.glob("*.txt"))]


def _read(path: Path) -> Told:
    head, _, body = path.read_text(encoding="utf-8").partition("\n---\n")
    facts: dict[str, list[list[str]]] = {kind: [] for kind in KINDS}
    half = ""
    for line in head.splitlines():
        key, _, value = line.partition(": ")
        if key == "half":
            half = value
        elif key == "names":
            facts[key] = [[name.strip().removeprefix("the ")] for name in value.split(",")]
        elif key in facts:
            facts[key].append([word.strip() for word in value.split("|")])
    return Told(path.stem, half, facts, body.split("\n")[:-1] if body.endswith("\n") else body.split("\n"))


def tables() -> list[Table]:
    """Return a table for each half of the stories."""
    stories = read_stories()
    return [table(half, stories) for half in HALVES]


def table(half: str, stories: Sequence[Told]) -> Table:
    """Return the share of facts that summaries of one half of the stories keep."""
    rows: list[Row] = []
    sums = {kind: [0, 0] for kind in KINDS}
    for story in stories:
        if story.half != half:
            continue
        kept = story.kept(story.summary())
        for kind, (found, of) in kept.items():
            sums[kind][0] += found
            sums[kind][1] += of
        rows.append(Row(story.name, tuple(f"{found}/{of}" for found, of in kept.values())))
    rows.append(Row("all", tuple(f"{found}/{of}" for found, of in sums.values())))
    return Table(
        f"Stories in half of their tokens: {half}", ("names", "objectives", "relations", "inventory"), tuple(rows)
    )

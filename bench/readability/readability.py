"""The texts that heuristics write: `python -m bench readability` counts faults per thousand sentences, and
`python -m bench week` prints a week's reflections and summaries unedited, sampled with a fixed seed.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated

from bench.readability.checks import CHECKS, QUOTED, Sentence, sentences_of
from bench.readability.made import Made, lived, of_town
from bench.readability.ship import POLICIES, Ship
from bench.table import Row, Table
from cogitate.memory.language.text import normal
from cogitate.simulation.story.story import Story

AGENTS, DAYS, MINUTES_PER_TICK = 25, 7, 5
SHIP_DAYS = 5
STORY_DAYS, STORY_MINUTES_PER_TICK = 7, 5
TYPES = ("reflection", "summary", "long-term summary", "plan item")
_SHARED = 3  # owners: both sides of a talk may summarise it in the same words


def tables(
    agents: int = AGENTS, days: int = DAYS, *, examples: Annotated[bool, "print the sentences that fail"] = False
) -> Iterator[Table | str]:
    """Yield a table for each world as it becomes ready, followed by sentences that fail, if `examples` is set."""
    worlds: tuple[tuple[str, Callable[[], list[Made]]], ...] = (
        (f"A town of {agents} for {days} days", lambda: of_town(agents, days, MINUTES_PER_TICK)),
        (f"An ice ship for {SHIP_DAYS} days", lambda: lived(Ship(), SHIP_DAYS, POLICIES)),
        (
            f"The story for {STORY_DAYS} days",
            lambda: lived(Story(minutes_per_tick=STORY_MINUTES_PER_TICK), STORY_DAYS),
        ),
    )
    for title, live in worlds:
        made = live()
        yield table(title, made)
        if examples:
            yield "\n".join(found(made))


def table(title: str, made: Sequence[Made]) -> Table:
    """Return how many of a thousand sentences fail each check, by type of text."""
    by_type = {kind: [s for m in made if m.type == kind for s in sentences_of(m)] for kind in TYPES}
    columns = [kind for kind in TYPES if by_type[kind]]
    rows = [Row("sentences", tuple(len(by_type[kind]) for kind in columns))]
    for name, check in CHECKS.items():
        rows.append(Row(name, tuple(_per_thousand(sum(map(check, by_type[k])), len(by_type[k])) for k in columns)))
    rows.append(
        Row(
            f"the same of {_SHARED} owners or more",
            tuple(_per_thousand(_shared(by_type[k]), len(by_type[k])) for k in columns),
        )
    )
    rows.append(Row("words in quotes", tuple(_quoted(by_type[k]) for k in columns)))
    return Table(f"{title}: of a thousand sentences", tuple(columns), tuple(rows), decimals=1)


def found(made: Sequence[Made], most: int = 5) -> Iterable[str]:
    """Yield some of the sentences that fail each check."""
    sentences = [s for m in made for s in sentences_of(m)]
    for name, check in CHECKS.items():
        hits = dict.fromkeys(f"{s.of.type}: {s.text}" for s in sentences if check(s))
        for text in list(hits)[:most]:
            yield f"{name}: {text}"


def _per_thousand(count: int, of: int) -> float:
    return 1000 * count / of


def _shared(sentences: Sequence[Sentence]) -> int:
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for sentence in sentences:
        owners[normal(sentence.text)].add(sentence.of.owner)
    counted = Counter(normal(sentence.text) for sentence in sentences)
    return sum(times for text, times in counted.items() if len(owners[text]) >= _SHARED)


def _quoted(sentences: Sequence[Sentence]) -> float:
    words = sum(len(s.text.split()) for s in sentences)
    quoted = sum(len(quote.split()) for s in sentences for quote in QUOTED.findall(s.text))
    return _per_thousand(quoted, words)


SEED = 0
SAMPLED = 20  # of each type


def markdown() -> str:
    """Return the sampled texts of a week as Markdown, in the order in which they were written."""
    return sampled(of_town(agents=6, days=7, minutes_per_tick=10, seed=SEED))


def sampled(made: Sequence[Made]) -> str:
    """Return a sample of the reflections and summaries among these texts."""
    lines: list[str] = []
    for kind, title in (("reflection", "Reflections"), ("summary", "Summaries")):
        texts = [text for text in made if text.type == kind]
        chosen = sorted(random.Random(SEED).sample(range(len(texts)), min(SAMPLED, len(texts))))
        lines += [f"## {title}", ""]
        lines += [f"- **{texts[index].name}, {texts[index].when}**: {texts[index].text}" for index in chosen]
        lines.append("")
    return "\n".join(lines).rstrip()

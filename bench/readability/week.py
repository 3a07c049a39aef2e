"""`python -m bench week`: reflections and summaries of a week, sampled with a fixed seed and printed unedited."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bench.readability.made import Made, of_town

AGENTS, DAYS, MINUTES_PER_TICK, SEED = 6, 7, 10, 0
SAMPLED = 20  # of each type


def markdown() -> str:
    """Return the sampled texts as Markdown, in the order in which they were written."""
    return sampled(of_town(AGENTS, DAYS, MINUTES_PER_TICK, SEED))


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

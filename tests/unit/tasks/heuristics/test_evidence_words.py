"""Every content word of a reflection without a model stands in its evidence, or is a phrase of its language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogitate.memory.clock import DAY
from cogitate.memory.entry import Entry
from cogitate.memory.language.text import FUNCTION_WORDS, stems, words
from cogitate.simulation.recorded.player import RecordedWorld
from cogitate.simulation.story.story import Story
from cogitate.simulation.town.town import Town
from cogitate.simulation.world import World
from cogitate.tasks.heuristics.insight import find_insight, is_quiet
from cogitate.tasks.heuristics.recalled import Recalled
from tests.unit.memory.language.leads import without_leads
from tests.unit.tasks.heuristics.lived_days import lived
from tests.unit.tasks.heuristics.written_days import WRITTEN_DAYS, WrittenDay
from tests.unit.tasks.kind_cases import stream_of

#: What a reflection says beside what it quotes: who spoke to whom, and when.
PHRASES = frozenset(
    stems(
        "told asked said talked noted day today morning afternoon evening night for at AM PM 1 2 3 "
        "第 天 el día Tag Jour 日目"
    )
)


def unfounded(recalled: Recalled) -> set[str]:
    """Return the content words of a reflection that neither its evidence nor a phrase has."""
    insight = find_insight(recalled)
    if is_quiet(insight.text):
        return set()
    shown = [e.text for e in (*recalled.before, *recalled.recent) if e.number in insight.evidence]
    people = [name for owner, name in recalled.names.items() if owner.startswith("agent:")]
    source = set(stems(" ".join([*shown, *people]))) | PHRASES
    clock = set(words(" ".join(re.findall(r"\d+:\d+", insight.text))))
    return {word for word in stems(without_leads(insight.text, people)) if word not in source | clock | FUNCTION_WORDS}


@pytest.mark.parametrize("day", WRITTEN_DAYS.values(), ids=WRITTEN_DAYS)
def test_an_insight_names_the_main_topic_of_a_written_day(day: WrittenDay) -> None:
    insight = find_insight(day.recalled)
    entries = {e.number: e for e in day.recalled.recent}
    assert all(word in insight.text.casefold() for word in day.about)
    assert max(entries[n].importance for n in insight.evidence) >= 6
    assert not unfounded(day.recalled)


@pytest.mark.parametrize("day", WRITTEN_DAYS.values(), ids=WRITTEN_DAYS)
def test_a_reflection_is_the_same_in_whatever_order_its_memories_are_read(day: WrittenDay) -> None:
    recalled = day.recalled
    other = Recalled(
        owner=recalled.owner,
        recent=tuple(reversed(recalled.recent)),
        before=(),
        names=recalled.names,
        minute=recalled.minute,
        repeats={},
        language=recalled.language,
    )
    assert find_insight(other) == find_insight(recalled)


ADA, BO, CY = "agent:ada", "agent:bo", "agent:cy"
NAMES = {ADA: "Ada Smith", BO: "Bo Lind", CY: "Cy"}
_WHO = st.sampled_from(sorted(NAMES))
_TEXT = st.builds(
    str.format,
    st.sampled_from(
        [
            "{0} {1} the {2}.",
            "The {2} was {1} by {0}.",
            "{0} is conversing about {0} and Cy discussing the {2}.",
            "{0} is conversing about the {2} and the mill.",
            "{0} promised to mend the {2} tomorrow at 9 am.",
            "I promise to mend the {2}!",
            "Come to the {2} party tomorrow at 5 pm.",
            "Is the {2} {1}?",
            "今天{2}坏了。{2}要修。",
            "El {2} de la plaza está {1}.",
            "{0} is mending the {2}",
        ]
    ),
    st.sampled_from(sorted(NAMES.values())),
    st.sampled_from(["mended", "sold", "broke", "lost"]),
    st.sampled_from(["bridge", "lamp", "well", "钟", "pozo"]),
)


@st.composite
def _entries(draw: st.DrawFn) -> list[Entry]:
    found = []
    for minute in sorted(draw(st.lists(st.integers(0, 1_400), min_size=1, max_size=8))):
        speaker, hearer = draw(st.permutations(sorted(NAMES)))[:2]
        spoken = draw(st.booleans())
        found.append(
            Entry(
                type="message" if spoken else "observation",
                text=draw(_TEXT),
                minute=minute,
                importance=draw(st.integers(1, 10)),
                subjects=(speaker, hearer) if spoken else (speaker,),
                source="dialogue" if spoken else "external",
            )
        )
    return found


@settings(deadline=None)
@given(_entries(), st.integers(0, 8))
def test_a_generated_day_is_told_in_the_words_of_its_evidence(entries: list[Entry], old: int) -> None:
    live = stream_of(*entries, owner=ADA).live()
    recalled = Recalled(owner=ADA, recent=live[old:], before=live[:old], names=NAMES, minute=1_450, repeats={})
    assert not unfounded(recalled)


@pytest.mark.parametrize("world", [Town(agents=8, seed=3), Story(seed=2)], ids=["town", "story"])
def test_days_of_a_world_are_told_in_the_words_of_their_evidence(world: World) -> None:
    days = list(lived(world, 2 * DAY))
    assert len(days) > 20
    for recalled in days:
        assert not unfounded(recalled), find_insight(recalled).text


def test_recorded_days_are_told_in_the_words_of_their_evidence(recordings: Path) -> None:
    runs = [path.parent for path in sorted(recordings.glob("**/meta.json"))]
    if not runs:
        pytest.skip("COGITATE_RECORDINGS holds no runs")
    for run in runs:
        days = list(lived(RecordedWorld(run), DAY))
        assert sum(not is_quiet(find_insight(recalled).text) for recalled in days) >= len(days) / 3
        for recalled in days:
            assert not unfounded(recalled), find_insight(recalled).text

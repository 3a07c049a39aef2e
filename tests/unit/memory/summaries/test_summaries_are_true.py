"""Every content word of a summary stands in its source or is a word of telling, and quotes name their speaker."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogitate.memory.entry import Entry
from cogitate.memory.language.tables import read_table
from cogitate.memory.language.text import stems, words
from cogitate.memory.summaries.conversations import summarise_entries
from cogitate.memory.summaries.transcripts import without_directions
from cogitate.memory.summaries.units import MAX_SPEAKER
from tests.unit.memory.language.leads import without_leads
from tests.unit.memory.summaries.test_summary import TALK
from tests.verbatim import altered_quotes

#: Words of telling: who talked when, verbs of speech, written-out contractions, days and plans that are over.
TELLING = frozenset(
    stems(
        "talked conversation said told asked day evening morning afternoon am pm going go want kind because have be do "
        "not nothing worth keeping was said others"
    )
    + [stem for phrases in read_table("phrases").values() for stem in stems(phrases["day"].format(day=" "))]
    + [phrases.get("between", "").split("|")[-1].strip() for phrases in read_table("phrases").values()]
)
QUOTES = re.compile(r' (?:said|(?:asked|told)(?: ([^":]+))?): ("[^"]+"(?:, "[^"]+")*(?: and "[^"]+")?)')

PEOPLE = ("Ada Pike", "Unit Seven", "Jon", "Gina", "李梅")
SAID = (
    *(line.text for line in TALK),
    "You can't trust the ferry, and they know it.",
    "We moved 30 crates to Bay 4, I guess.",
    "Agreed. I'll tell Houston it moves to Thursday.",
    "um {disfmarker} We do want to {gap} sort of get modifiers in there .",
    "Here's the letter from Rolf Stein, my queen.",
    "Let's meet at the Old Mill tomorrow!",
    "Who else comes to Rome? Did you say she sold it to Max?",
    "I never promised the salt to Oswin.",
    "My sister sang in Paris. She bought a piano.",
    'Zoe calls it "the pit", but I call it home.',
    "北边的桥被大水冲坏了，得绕路。你好吗？",
    "El alcalde prometió pagar la mitad. ¡Qué horror!",
    "二番ポンプの圧力が昨夜から下がっています。",
    "เมื่อคืนไฟไหม้โกดังข้าวของลุงเดช",
)


def told_of(lines: Sequence[tuple[str, str]], minute: int = 600) -> str:
    people = list(dict.fromkeys(speaker for speaker, _ in lines))
    ids = {name: f"agent:{at}" for at, name in enumerate(people)}
    entries = [
        Entry(
            type="message",
            source="dialogue",
            text=text,
            minute=minute + at // 4,
            number=at + 1,
            subjects=(ids[speaker], *(other for name, other in ids.items() if name != speaker)),
        )
        for at, (speaker, text) in enumerate(lines)
    ]
    return summarise_entries(entries, {owner: name for name, owner in ids.items()}, minute=9_999)


def called_of(names: set[str]) -> dict[str, str]:
    """Return who is meant by each name in a summary, and by each part that only one of the names has."""
    parts = Counter(part for name in names for part in {*name.split()})
    short = {part: name for name in names for part in name.split() if parts[part] == 1}
    return short | {name[:MAX_SPEAKER]: name for name in names}


def check(lines: Sequence[tuple[str, str]]) -> None:
    summary = told_of(lines)
    source = frozenset(stems(" ".join(part for line in lines for part in line)))
    numbers = {word for word in words(summary) if word.isdigit()}
    assert not {
        stem
        for stem in stems(without_leads(summary, {name for name, _ in lines}))
        if stem not in source | TELLING | numbers
    }, summary
    called = called_of({name for name, _ in lines})
    for quotes in QUOTES.finditer(summary):
        before = summary[: quotes.start()]
        speaker = max((name for name in called if before.endswith(name)), key=len)
        assert quotes[1] is None or called[quotes[1]] != called[speaker], summary
        said = frozenset(stems(" ".join(text for name, text in lines if name == called[speaker])))
        for quote in re.findall('"([^"]+)"', quotes[2]):
            assert set(stems(quote)) <= said | TELLING | numbers, (speaker, quote)
    assert altered_quotes(summary, [said for _, text in lines for said in (text, without_directions(text))]) == [], (
        summary
    )


@given(st.lists(st.tuples(st.sampled_from(PEOPLE), st.sampled_from(SAID)), min_size=1, max_size=14))
def test_a_summary_says_nothing_that_was_not_said(lines: list[tuple[str, str]]) -> None:
    check(lines)


def recorded(data: Path) -> Iterable[list[tuple[str, str]]]:
    """Yield the sessions, pieces of meetings and games among the recordings."""
    from bench.quality.recordings import load_conversations

    for talk in load_conversations(data):
        for turns in talk.sessions.values():
            yield [(turn.speaker, turn.text) for turn in turns]
    for meeting in json.loads((data / "qmsum" / "dev.json").read_text(encoding="utf-8")):
        lines = [(turn["sp"], turn["text"][:4_000]) for turn in meeting["turns"] if turn["text"].strip()]
        yield from (lines[at : at + 60] for at in range(0, len(lines), 60))
    for piece in json.loads((data / "crd3" / "dev.json").read_text(encoding="utf-8")):
        yield [(speaker, text[:4_000]) for speaker, text in piece["turns"] if text.strip()]


def test_a_summary_of_a_recorded_talk_says_nothing_that_was_not_said(recordings: Path) -> None:
    if not (recordings / "qmsum").is_dir() or not (recordings / "crd3").is_dir():
        pytest.skip("COGITATE_RECORDINGS holds no meetings or games")
    for lines in recorded(recordings):
        check(lines)

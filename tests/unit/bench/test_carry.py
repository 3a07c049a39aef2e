"""Questions whose answers are known, and what is counted of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.carry import carry, story_questions, town_questions
from bench.carry.questions import Asked, Question, games, meetings
from bench.quality.recordings import read_conversations
from cogitate.memory.entry import Entry
from cogitate.memory.retrieval.candidates import Matching
from cogitate.memory.retrieval.retrieval import DEFAULT


def told(memories: list[Asked], kind: str) -> list[tuple[str, list[str]]]:
    """Return each question of a kind with the texts that answer it."""
    return [
        (question.text, [entry.text for entry in memory.entries if entry.number in question.evidence])
        for memory in memories
        for question in memory.questions
        if question.kind == kind
    ]


def test_a_question_counts_by_the_share_of_its_evidence() -> None:
    lines = [Entry(type="observation", text=f"the cake number{n}", minute=n, number=n) for n in range(1, 13)]
    lines.append(Entry(type="observation", text="nothing to eat", minute=13, number=13))
    memory = Asked(
        "ann", lines, (Question("the cake", "one", frozenset({12})), Question("the cake", "two", frozenset({12, 13})))
    )
    assert [share for _, share in carry.recalls([memory], DEFAULT)] == [1.0, 0.5]


def test_an_answer_in_the_same_words_is_as_good() -> None:
    lines = [Entry(type="observation", text="a cake", minute=n, number=n) for n in (1, 2)]
    memory = Asked("ann", lines, (Question("the cake", "one", frozenset({1})),))
    assert [share for _, share in carry.recalls([memory], DEFAULT)] == [1.0]


def test_meetings_and_games_are_read(tmp_path: Path) -> None:
    assert meetings(tmp_path) == games(tmp_path) == []
    turns = [{"sp": "Ann", "text": "Cake?"}, {"sp": "Bob", "text": "No."}]
    meeting = {"name": "m", "turns": turns, "qs": [{"q": "Who wants cake?", "cat": "short", "ev": [1]}]}
    piece = {
        "ep": "e",
        "ref": "Bob hits the orc very hard. Yes.",
        "turns": [["Bob", "I hit it."], ["Ann", "Well done."]],
    }
    for name, recorded in (("qmsum", [meeting]), ("crd3", [piece, piece])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dev.json").write_text(json.dumps(recorded))
    (one,) = meetings(tmp_path)
    assert [(entry.subjects, entry.text) for entry in one.entries] == [(("Ann",), "Cake?"), (("Bob",), "No.")]
    assert one.questions == (Question("Who wants cake?", "short", frozenset({2})),)
    (game,) = games(tmp_path)
    assert [(question.text, question.evidence) for question in game.questions] == [
        ("Bob hits the orc very hard.", {1, 2}),
        ("Bob hits the orc very hard.", {3, 4}),
    ]


def test_the_town_knows_its_promises() -> None:
    memories = town_questions.memories(12, 3, 5)
    promises = told(memories, "promised to whom")
    assert promises
    for question, lines in promises:
        giver = question.removeprefix("What did ").split()[0]
        assert all(line.startswith(giver) and ": Of course, I promise: I will " in line for line in lines)
    by_giver = dict(told(memories, "all promises"))
    assert any(len(lines) > 1 for lines in by_giver.values())
    for _, lines in told(memories, "guests"):
        assert all("I would love to." in line for line in lines)
    for question, lines in told(memories, "opinion"):
        assert all(line.startswith(question.split()[1]) for line in lines)


def test_the_story_knows_votes_and_promises() -> None:
    memories = story_questions.memories(4, 5)
    votes = told(memories, "votes")
    assert votes
    for question, lines in votes:
        who = question.removeprefix("Which side did ").partition(" take ")[0]
        assert len(lines) == 2  # ballots
        assert all(f"{who} voted to " in line for line in lines)
    promises = told(memories, "promise")
    assert any(len(lines) == 2 for _, lines in promises)  # the promise, and what became of it
    for question, lines in promises:
        giver = question.removeprefix("What did ").partition(" promise ")[0]
        assert all(line.startswith(giver) for line in lines)


@pytest.mark.parametrize("domain", ["town", "story"])
def test_the_same_seed_gives_the_same_questions(domain: str) -> None:
    def asked() -> list[tuple[str, tuple[Question, ...]]]:
        found = town_questions.memories(5, 1, 3) if domain == "town" else story_questions.memories(1, 3)
        return [(one.name, one.questions) for one in found]

    assert asked() == asked()
    assert asked()


def test_without_recordings_six_domains_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry, "TOWN_DAYS", 1)
    monkeypatch.setattr(carry, "TOWN_SEEDS", (1,))
    monkeypatch.setattr(carry, "STORY_DAYS", 1)
    monkeypatch.setattr(carry, "TOWN_AGENTS", 4)
    monkeypatch.setattr(carry, "read_conversations", lambda folder: read_conversations(folder)[:1])
    monkeypatch.setattr(carry, "variants", lambda: [carry.Variant(name, carry.BM25) for name in ("a", "b", "c")])
    table, several, gain, _, *by_kind = carry.tables(None)
    assert table.columns == several.columns == gain.columns
    assert [set(row.cells) for row in gain.rows] == [{0.0}, {0.0}]
    assert table.columns == ("chats", "held-out chats", "catch-ups", "held-out catch-ups", "town", "story")
    assert len(by_kind) == 6


def test_each_part_of_the_profile_is_left_out_once() -> None:
    plain, fields, whole, *others = carry.variants()
    assert (plain.profile.matching, fields.profile.matching) == (Matching(), Matching(fields=DEFAULT.matching.fields))
    assert whole.profile == DEFAULT
    left_out = [variant.label.removeprefix("… without ") for variant in others if "without" in variant.label]
    parts = [part.name for part in DEFAULT.components if part.name != "similarity"]
    assert left_out == [*parts, "themes", "rarity"]


def test_every_question_about_a_talk_names_lines_that_exist() -> None:
    paths = sorted(carry.TALKS.glob("*/*/*.json"))
    assert [path.parts[-3] for path in paths].count("catch_ups") == 4
    for path in paths:
        talk = json.loads(path.read_text(encoding="utf-8"))
        lines = {
            line["dia_id"] for session in talk["conversation"].values() for line in session if isinstance(line, dict)
        }
        assert len(talk["qa"]) >= 36
        assert all(question["evidence"] and lines.issuperset(question["evidence"]) for question in talk["qa"])

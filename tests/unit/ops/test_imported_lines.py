"""What JSON Lines and dialogues bring into a run, and what of them is left out and named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cogitate.memory.effects import ReplaceSummary, SetCharacter
from cogitate.memory.entry import Character, Entry, Head, PlanItem
from cogitate.memory.errors import InputError
from cogitate.memory.profile import Profile
from cogitate.memory.snapshot import dump, dump_with_profile
from cogitate.memory.stream import Stream
from cogitate.ops.exchange import incoming
from cogitate.ops.exchange.command import settings_of
from cogitate.ops.exchange.dialogue import read_dialogue
from cogitate.ops.exchange.incoming import Incoming
from cogitate.ops.exchange.jsonl import read_jsonl
from cogitate.scheduler.config.settings import Settings
from tests.unit.ops.imported import remembered

ADA, BEN = "agent:ada", "agent:ben-cole"


def lines(tmp_path: Path, *values: object) -> Path:
    file = tmp_path / "memories.jsonl"
    file.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in values))
    return file


def dialogue(tmp_path: Path, data: object) -> Path:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(data))
    return file


# -- JSON Lines --------------------------------------------------------------------------------------------


def test_lines_become_memories_in_order_of_game_time(tmp_path: Path) -> None:
    found = read_jsonl(
        lines(
            tmp_path,
            {"owner": ADA, "text": "The mill stopped.", "minute": 900, "importance": 8, "type": "reflection"},
            {"owner": ADA, "text": "Ben owes me a ploughshare.", "minute": 480, "importance": 6},
            "",
            {"owner": "Ben Cole", "text": "I owe Ada.", "minute": 481},
        )
    )
    assert remembered(found, ADA) == [
        ("Ben owes me a ploughshare.", 480, 6, "observation"),
        ("The mill stopped.", 900, 8, "reflection"),
    ]
    assert remembered(found, BEN) == [("I owe Ada.", 481, 0, "observation")]
    assert (found.profiles[ADA].name, found.profiles[BEN].name) == ("Ada", "Ben Cole")
    assert not found.left_out


def test_times_count_from_midnight_of_the_first_day(tmp_path: Path) -> None:
    found = read_jsonl(
        lines(
            tmp_path,
            {"owner": ADA, "text": "second", "time": "2023-02-14T00:01:59"},
            {"owner": ADA, "text": "first", "time": "2023-02-13T08:30"},
        )
    )
    assert [(text, minute) for text, minute, *_ in remembered(found, ADA)] == [("first", 510), ("second", 1441)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("no JSON", "line 2: not valid JSON"),
        ("[1]", "line 2: it is '[1]': give an object"),
        ('{"owner": "agent:ada", "text": "x", "minute": NaN}', "line 2: not valid JSON"),
        ('{"owner": "agent:ada", "text": "\\ud800", "minute": 1}', "line 2: not valid JSON"),
        ({"owner": ADA, "text": "x", "minute": -1}, "line 2: minute -1: "),
        ({"owner": ADA, "text": "x", "minute": True}, "line 2: minute True: true and false are not numbers"),
        ({"owner": ADA, "text": "x", "minute": 1.5}, "line 2: minute 1.5: "),
        ({"owner": ADA, "text": ["x"], "minute": 1}, "line 2: text "),
        ({"owner": ADA, "text": "   ", "minute": 1}, "line 2: effect for 'agent:ada' (Append): text is blank"),
        ({"owner": ADA, "text": "x" * 4_001, "minute": 1}, "line 2: text "),
        ({"owner": ADA, "text": "x", "minute": 1, "importance": 11}, "line 2: importance 11: "),
        ({"owner": ADA, "text": "x", "minute": 1, "type": "dream"}, "line 2: type 'dream': "),
        ({"owner": ADA, "text": "x", "minute": 1, "mood": "sad"}, "line 2: mood 'sad': "),
        ({"owner": ADA, "text": "x"}, "line 2: minute "),
        ({"owner": ADA, "text": "x", "time": "noon"}, "line 2: time 'noon': "),
        ({"owner": ADA, "text": "x", "time": 5}, "give a date and time such as '2023-02-13T08:30'"),
        ({"owner": ADA, "text": "x", "time": "2023-02-13T08:30", "minute": 1}, "line 2: it has a minute and a time"),
        ({"text": "x", "minute": 1}, "line 2: owner "),
        ({"owner": "agent:}", "text": "x", "minute": 1}, "line 2: 'agent:}' is not an owner"),
        ({"owner": "太郎", "text": "x", "minute": 1}, "it gives no id"),
        ({"owner": ADA, "entries": 5}, "line 2: this is not a snapshot of a stream"),
    ],
)
def test_a_line_that_cannot_be_used_is_left_out_and_named(line: Any, told: str, tmp_path: Path) -> None:
    good = {"owner": ADA, "text": "The mill stopped.", "minute": 900}
    found = read_jsonl(lines(tmp_path, good, line, good))
    assert len(found.memories[ADA]) == 2
    assert found.left_out == {"line": 1}
    assert told in found.faults[0]


def test_a_file_without_a_usable_line_is_refused_with_its_first_fault(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no valid memory; the first fault: line 1: not valid JSON"):
        read_jsonl(lines(tmp_path, "nope"))
    with pytest.raises(InputError, match="cannot be read"):
        read_jsonl(tmp_path / "missing.jsonl")


def test_a_file_with_too_much_in_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = lines(tmp_path, *({"owner": ADA, "text": "x", "minute": minute} for minute in range(3)))
    monkeypatch.setattr(incoming, "MAX_MEMORIES", 2)
    with pytest.raises(InputError, match="more than 2 memories: split it"):
        read_jsonl(file)
    monkeypatch.setattr(incoming, "MAX_FILE", 10)
    with pytest.raises(InputError, match="at most 10 are read: split it"):
        read_jsonl(file)


def test_faults_beyond_the_listed_ones_are_counted(tmp_path: Path) -> None:
    found = read_jsonl(lines(tmp_path, {"owner": ADA, "text": "x", "minute": 1}, *["nope"] * 50))
    assert found.left_out == {"line": 50}
    assert len(found.faults) == incoming.MAX_NAMED


def test_an_exported_stream_returns_complete_except_for_archived_entries(tmp_path: Path) -> None:
    stream = Stream(ADA)
    stream.append(Entry(type="observation", text="The river rose.", minute=3, importance=2), 1)
    stream.append(Entry(type="message", text="Ben: Run!", minute=4, importance=7, source="dialogue"), 1)
    stream.append(Entry(type="reflection", text="The river is a danger.", minute=5, importance=8, evidence=(1, 2)), 2)
    plan = Entry(
        type="plan", text="Build a dam.", minute=6, valid_until=1440, items=(PlanItem(id="2-0", description="Dig"),)
    )
    stream.append(plan, 2)
    stream.archive(1, 3)
    stream.head = Head(
        last_number=4,
        summary="Ada lives by the river.",
        plan_status={"2-0": "completed"},
        character=Character(names=("Ada",)),
    )
    found = _exported(stream, tmp_path)
    assert remembered(found, ADA) == [
        (entry.text, entry.minute, entry.importance, entry.type) for entry in stream.live()
    ]
    message, reflection, planned = found.memories[ADA]
    assert (message.source, reflection.evidence) == ("dialogue", (1,))  # the first live entry is number 1 now
    assert [(item.id, item.status) for item in planned.items] == [("2-0", "completed")]
    assert found.facts == [
        ReplaceSummary(ADA, "Ada lives by the river.", 0),
        SetCharacter(ADA, Character(names=("Ada",))),
    ]
    assert found.left_out == {"archived entry": 1}


def test_an_exported_stream_brings_its_profile(tmp_path: Path) -> None:
    ada = Profile(name="Ada Smith", age=34, occupation="smith", traits=("stubborn",), home="home:ada")
    assert _exported(_seen(ADA), tmp_path, ada).profiles == {ADA: ada}
    without = _exported(_seen(ADA), tmp_path)  # as 0.1.0 wrote it, and as for an owner that has left
    assert without.profiles == {ADA: Profile(name="Ada")}
    assert not without.left_out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": 5}, "line 1: profile of 'agent:ada': Expected `str`"),
        ({"occupation": "smith"}, "missing required field `name`"),
        ({"name": " "}, "line 1: profile of 'agent:ada': name"),
        ("Ada", "line 1: profile of 'agent:ada': Expected `object"),
    ],
)
def test_a_profile_that_cannot_be_used_is_left_out_without_its_memories(
    given: object, told: str, tmp_path: Path
) -> None:
    found = read_jsonl(lines(tmp_path, json.loads(dump(_seen(ADA))) | {"profile": given}))
    assert found.profiles == {ADA: Profile(name="Ada")}
    assert found.count == 1
    assert found.left_out == {"profile": 1}
    assert told in found.faults[0]


def _seen(owner: str) -> Stream:
    stream = Stream(owner)
    stream.append(Entry(type="observation", text="The river rose.", minute=3, importance=2), 1)
    return stream


def _exported(stream: Stream, tmp_path: Path, profile: Profile | None = None) -> Incoming:
    file = tmp_path / "memories.jsonl"
    file.write_bytes(dump_with_profile(stream, profile) + b"\n")
    return read_jsonl(file)


def test_the_run_has_room_for_everything_that_one_owner_brings(tmp_path: Path) -> None:
    seen = [{"owner": ADA, "text": f"Day {n}", "minute": n} for n in range(201)]
    thought = [{"owner": BEN, "text": f"Thought {n}", "minute": n, "type": "reflection"} for n in range(50)]
    settings, raised = settings_of(read_jsonl(lines(tmp_path, *seen, *thought)), Settings(tick_rate=5))
    assert raised == {"max_observations": 268}  # pruning aims at three quarters of it
    assert (settings.max_observations, settings.max_reflections, settings.workers) == (268, 50, 0)
    assert settings.tick_rate is None


# -- dialogues ---------------------------------------------------------------------------------------------

TALK = {
    "speaker_a": "Ada",
    "speaker_b": "Ben Cole",
    "session_2": [{"speaker": "Ben Cole", "dia_id": "D2:1", "text": "", "blip_caption": "a photo of a mill"}],
    "session_2_date_time": "12:09 am on 13 September, 2023",
    "session_1": [
        {"speaker": "Ada", "dia_id": "D1:1", "text": "Hey Ben!"},
        {"speaker": "Ben Cole", "dia_id": "D1:2", "text": "Hey Ada!", "img_url": ["x"]},
    ],
    "session_1_date_time": "1:56 pm on 12 September, 2023",
}


@pytest.mark.parametrize("data", [TALK, {"conversation": TALK, "qa": []}, [{"sample_id": "a", "conversation": TALK}]])
def test_both_speakers_remember_every_turn_of_a_dialogue(data: object, tmp_path: Path) -> None:
    found = read_dialogue(dialogue(tmp_path, data))
    assert {owner: profile.name for owner, profile in found.profiles.items()} == {ADA: "Ada", BEN: "Ben Cole"}
    said = [("Ada: Hey Ben!", 836), ("Ben Cole: Hey Ada!", 836), ("Ben Cole: (shows a photo of a mill)", 1449)]
    for owner in (ADA, BEN):
        entries = found.memories[owner]
        assert [(entry.text, entry.minute) for entry in entries] == said
        assert {entry.type for entry in entries} == {"message"}
        assert [entry.source_id for entry in entries] == ["session_1", "session_1", "session_2"]
        assert entries[0].subjects == (ADA, BEN)
        assert entries[0].tags == ("D1:1",)
    assert not found.left_out


def test_a_file_of_several_conversations_requires_a_name(tmp_path: Path) -> None:
    file = dialogue(tmp_path, [{"sample_id": "a", "conversation": TALK}, {"sample_id": "b", "conversation": TALK}])
    with pytest.raises(InputError, match="it holds 2 conversations; name one with --sample: a, b"):
        read_dialogue(file)
    with pytest.raises(InputError, match="unknown conversation 'c'; name one with --sample: a, b"):
        read_dialogue(file, "c")
    assert len(read_dialogue(file, "b").memories[ADA]) == 3


def test_turns_and_sessions_that_cannot_be_used_are_left_out_and_named(tmp_path: Path) -> None:
    broken = TALK | {
        "session_1": [*TALK["session_1"], {"speaker": "Ada", "text": "  "}, {"text": "who?"}, "Hi", {"speaker": 5}],
        "session_3": "gone",
        "session_4": [{"speaker": "Ada", "text": "When?"}],
        "session_4_date_time": "yesterday",
    }
    found = read_dialogue(dialogue(tmp_path, broken))
    assert len(found.memories[ADA]) == 3
    assert found.left_out == {"turn": 4, "session": 2}
    told = "\n".join(found.faults)
    assert "session_1, turn 3: it has neither a text nor a caption" in told
    assert "session_1, turn 4: speaker " in told
    assert "session_3 is 'gone': give a list of turns" in told
    assert "session_4_date_time is 'yesterday'" in told
    assert "1 turns are left out with it" in told


@pytest.mark.parametrize("data", [{}, [], 5, [5], {"session_1": []}, {"conversation": None}])
def test_a_file_without_a_dialogue_is_refused(data: object, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_dialogue(dialogue(tmp_path, data))


def test_a_dialogue_of_invalid_json_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text("{")
    with pytest.raises(InputError, match=r"talk\.json: not valid JSON"):
        read_dialogue(file)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"owner": "agent:ada", "text": "I saw Ben.", "minute": 5}\r\n')
    found = read_jsonl(file)
    assert (found.count, found.left_out.total()) == (1, 0)
